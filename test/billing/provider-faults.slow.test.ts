import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { undoDueIntents } from '@posthorn/core/billing/provider/provider-intents.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import type { Answer } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { type AsaasFault, type AsaasServer, startAsaasServer } from './asaas-server.ts';
import {
  CARD_CVV,
  CARD_NUMBER,
  INTERNAL_SECRET,
  PROFILE,
  startTestBilling,
  type TestBilling,
  withProfile,
  withSubscription,
} from './billing-harness.ts';

const HOUR_MS = 3_600_000;
/** The timeout of calls that the provider keeps waiting. */
const ASAAS_TIMEOUT_MS = 1_000;
const TOO_LATE_MS = 1.5 * ASAAS_TIMEOUT_MS;
let asaas: AsaasServer;
let billing: TestBilling;
before(async () => {
  asaas = await startAsaasServer();
  billing = await startTestBilling({ asaas, asaasTimeoutMs: ASAAS_TIMEOUT_MS });
});
after(async () => {
  await billing.close();
  await asaas.close();
});
beforeEach(() => asaas.clearFaults());

/** The provider works again, and the worker runs until it finds nothing more to do. */
async function recover(): Promise<void> {
  asaas.clearFaults();
  for (let hour = 0; hour < 8; hour += 1) {
    billing.parts.clock.advance(HOUR_MS);
    await undoDueIntents(billing.billing);
    while (await runDueTask(billing.billing));
  }
}

/** The subscriptions and customers of a company on both sides. */
async function bothSides(company: SeededCompany) {
  const ours = await billing.parts.db.query<{ id: string }>(
    `SELECT asaas_subscription_id AS id FROM billing.subscriptions
     WHERE company_id = $1 AND status NOT IN ('cancelled', 'expired') ORDER BY 1`,
    [company.companyId],
  );
  const customers = await billing.parts.db.query<{ id: string }>(
    'SELECT asaas_customer_id AS id FROM billing.profiles WHERE company_id = $1',
    [company.companyId],
  );
  const references = await billing.parts.db.query<{ reference: string; state: string }>(
    'SELECT reference, state FROM billing.provider_intents WHERE company_id = $1',
    [company.companyId],
  );
  const mine = new Set(references.rows.map((row) => row.reference));
  const alive = (store: Map<string, Record<string, unknown>>) =>
    [...store.values()]
      .filter((item) => mine.has(String(item.externalReference)) && !item.deleted)
      .map((item) => String(item.id))
      .sort();
  return {
    ourSubscriptions: ours.rows.map((row) => row.id),
    theirSubscriptions: alive(asaas.subscriptions),
    ourCustomers: customers.rows.map((row) => row.id),
    theirCustomers: alive(asaas.customers),
    open: references.rows.filter((row) => row.state === 'started' || row.state === 'undo').length,
  };
}

async function assertAgreed(company: SeededCompany, subscriptions: number): Promise<void> {
  const sides = await bothSides(company);
  assert.deepEqual(sides.theirSubscriptions, sides.ourSubscriptions);
  assert.deepEqual(sides.theirCustomers, sides.ourCustomers);
  assert.equal(sides.ourSubscriptions.length, subscriptions);
  assert.equal(sides.open, 0);
}

const FAULTS: Record<string, AsaasFault> = {
  'cuts the connection': { kind: 'reset-before' },
  'answers 500 and does nothing': { kind: '500-before' },
  'answers 500 and does it': { kind: '500-after' },
  'answers by half': { kind: 'half' },
  'does it and never answers': { kind: 'silent' },
  'does it when nobody waits any more': { kind: 'late', delayMs: TOO_LATE_MS },
  'is too slow': { kind: 'slow', delayMs: TOO_LATE_MS },
  'has too many requests': { kind: 'status', status: 429 },
};

describe('POST /v1/billing/subscriptions', () => {
  const subscribe = (company: SeededCompany, body: Record<string, unknown> = {}) =>
    billing.call('POST', '/v1/billing/subscriptions', {
      key: company.apiKey,
      body: { plan_code: 'starter_monthly', billing_type: 'boleto', ...body },
    });

  for (const [what, fault] of Object.entries(FAULTS))
    for (const reach of ['for that call', 'for everything until it is well again'])
      it(`is done or cleanly not done when the provider ${what}, ${reach}`, async () => {
        const company = await withProfile(billing);
        asaas.fault('POST /subscriptions', fault);
        if (reach !== 'for that call') asaas.fault('GET', { kind: '500-before' }, 1_000);
        const answer = await subscribe(company);
        const done = answer.status === 201;
        if (!done) assert.deepEqual([answer.status, answer.body.error_code], [503, 'SERVICE_UNAVAILABLE']);
        const shown = await billing.call('GET', '/v1/billing/subscriptions/current', { key: company.apiKey });
        assert.equal(shown.status, done ? 200 : 404);
        await waitOut(fault);
        await recover();
        await assertAgreed(company, done ? 1 : 0);
        if (done) return;
        const again = await subscribe(company);
        assert.equal(again.status, 201);
        await recover();
        await assertAgreed(company, 1);
      });

  it('is done when the answer was lost and the provider, asked again, knows of it', async () => {
    for (const kind of ['500-after', 'half', 'silent'] as const) {
      const company = await withProfile(billing);
      asaas.fault('POST /subscriptions', { kind });
      assert.equal((await subscribe(company)).status, 201);
      await assertAgreed(company, 1);
    }
  });

  it('undoes the leftovers of an earlier request before it makes another', async () => {
    const company = await withProfile(billing);
    asaas.fault('POST /subscriptions', { kind: '500-after' });
    asaas.fault('GET /subscriptions', { kind: '500-before' });
    assert.equal((await subscribe(company)).status, 503);
    assert.equal((await bothSides(company)).theirSubscriptions.length, 1);
    assert.equal((await subscribe(company)).status, 201);
    await assertAgreed(company, 1);
  });

  it('finds a subscription that the provider made only after the search', async () => {
    const company = await withProfile(billing);
    const lookedFor = Promise.withResolvers<void>();
    asaas.fault('POST /subscriptions', { kind: 'late', until: lookedFor.promise });
    assert.equal((await subscribe(company)).status, 503);
    await undoDueIntents(billing.billing);
    assert.equal((await bothSides(company)).theirSubscriptions.length, 0);
    lookedFor.resolve();
    await waitFor(async () => (await bothSides(company)).theirSubscriptions.length === 1);
    await recover();
    await assertAgreed(company, 0);
  });

  it('finds one that the provider makes minutes later, however often it was asked for meanwhile', async () => {
    const company = await withProfile(billing);
    const madeAt = Promise.withResolvers<void>();
    asaas.fault('POST /subscriptions', { kind: 'late', until: madeAt.promise });
    assert.equal((await subscribe(company)).status, 503);
    asaas.fault('POST /subscriptions', { kind: '500-before' }, 8);
    for (let tries = 0; tries < 8; tries += 1) {
      billing.parts.clock.advance(5_000);
      assert.equal((await subscribe(company)).status, 503);
    }
    madeAt.resolve();
    await waitFor(async () => (await bothSides(company)).theirSubscriptions.length === 1);
    await recover();
    await assertAgreed(company, 0);
  });

  it('is cleanly not done when our own side cannot be written', async () => {
    const company = await withProfile(billing);
    await billing.parts.db.query('REVOKE INSERT ON billing.subscriptions FROM posthorn_billing');
    const answer = await subscribe(company);
    await billing.parts.db.query('GRANT INSERT ON billing.subscriptions TO posthorn_billing');
    assert.equal(answer.status, 500);
    assert.equal((await bothSides(company)).theirSubscriptions.length, 1);
    await recover();
    await assertAgreed(company, 0);
    assert.equal((await subscribe(company)).status, 201);
  });

  it('is done without its charges when those cannot be read, and they come', async () => {
    const company = await withProfile(billing);
    asaas.fault('GET /subscriptions/', { kind: '500-before' }, 3);
    assert.equal((await subscribe(company)).status, 201);
    const list = async () =>
      (await billing.call('GET', '/v1/billing/charges', { key: company.apiKey })).body.data.length;
    assert.equal(await list(), 0);
    await recover();
    assert.equal(await list(), 1);
  });

  it('answers 422 CARD_REJECTED when the provider refuses the card', async () => {
    const company = await withProfile(billing);
    const card = await billing.call('POST', '/v1/billing/cards/tokenize', {
      key: company.apiKey,
      body: {
        billing_profile_id: company.profileId,
        number: CARD_NUMBER,
        cvv: CARD_CVV,
        exp_month: 1,
        exp_year: 2030,
      },
    });
    await billing.parts.db.query('UPDATE billing.cards SET token = $2 WHERE id = $1', [
      card.body.id,
      billing.billing.cipher.seal('token-of-a-closed-card'),
    ]);
    const answer = await subscribe(company, { billing_type: 'credit_card', card_id: card.body.id });
    assert.deepEqual([answer.status, answer.body.error_code], [422, 'CARD_REJECTED']);
    await recover();
    await assertAgreed(company, 0);
  });
});

describe('POST /v1/billing/profile', () => {
  for (const [what, fault] of Object.entries(FAULTS))
    it(`makes one customer and one profile, or neither, when the provider ${what}`, async () => {
      const company = await billing.company();
      const create = () =>
        billing.call('POST', '/v1/billing/profile', { key: company.apiKey, body: PROFILE });
      asaas.fault('POST /customers', fault);
      const answer = await create();
      if (answer.status !== 201) {
        assert.deepEqual([answer.status, answer.body.error_code], [500, 'INTERNAL']);
        assert.ok(answer.body.incident_id);
      }
      await waitOut(fault);
      await recover();
      await assertAgreed(company, 0);
      if (answer.status !== 201) assert.equal((await create()).status, 201);
      await recover();
      await assertAgreed(company, 0);
      assert.equal((await bothSides(company)).ourCustomers.length, 1);
    });
});

describe('POST /v1/billing/cards/tokenize', () => {
  for (const [what, fault] of Object.entries(FAULTS))
    it(`stores the card or answers 503 when the provider ${what}`, async () => {
      const company = await withProfile(billing);
      asaas.fault('POST /creditCard', fault);
      const { status, body } = await billing.call('POST', '/v1/billing/cards/tokenize', {
        key: company.apiKey,
        body: {
          billing_profile_id: company.profileId,
          number: CARD_NUMBER,
          cvv: CARD_CVV,
          exp_month: 1,
          exp_year: 2030,
        },
      });
      assert.deepEqual([status, body.error_code], [503, 'SERVICE_UNAVAILABLE']);
      const cards = await billing.call('GET', '/v1/billing/cards', { key: company.apiKey });
      assert.deepEqual(cards.body.data, []);
      await waitOut(fault);
    });
});

describe('changes while the provider is away', () => {
  const priceAt = (subscription: Answer['body']) =>
    asaas.subscriptions.get(subscription.asaas_subscription_id)!.value;

  for (const [what, fault] of Object.entries(FAULTS)) {
    it(`a plan change is scheduled, and the provider learns its price, when it ${what}`, async () => {
      const { subscription, ...company } = await withSubscription(billing);
      asaas.fault('PUT /subscriptions', fault, 3);
      const answer = await billing.call('POST', `/v1/billing/subscriptions/${subscription.id}/change-plan`, {
        key: company.apiKey,
        body: { new_plan_code: 'pro_yearly' },
      });
      assert.equal(answer.status, 202);
      await runDueTask(billing.billing);
      await waitOut(fault);
      await recover();
      assert.equal(priceAt(subscription), 1499);
      assert.equal(asaas.subscriptions.get(subscription.asaas_subscription_id)!.cycle, 'YEARLY');
      await assertAgreed(company, 1);
    });

    it(`a cancellation is done here at once and there as soon as can be, when it ${what}`, async () => {
      const { subscription, ...company } = await withSubscription(billing);
      asaas.fault('DELETE /subscriptions', fault, 3);
      const answer = await billing.call('POST', `/v1/billing/subscriptions/${subscription.id}/cancel`, {
        key: company.apiKey,
        body: { immediate: true },
      });
      assert.equal(answer.status, 204);
      await runDueTask(billing.billing);
      await waitOut(fault);
      await recover();
      await assertAgreed(company, 0);
    });

    it(`the cancellation for an account deletion changes nothing or is done, when it ${what}`, async () => {
      const { subscription, ...company } = await withSubscription(billing);
      asaas.fault('DELETE /subscriptions', fault);
      const cancel = () =>
        billing.call('POST', `/internal/v1/companies/${company.companyId}/cancel-subscriptions`, {
          headers: { 'x-internal-secret': INTERNAL_SECRET },
        });
      const answer = await cancel();
      assert.deepEqual([answer.status, answer.body.error_code], [503, 'SERVICE_UNAVAILABLE']);
      const shown = await billing.call('GET', '/v1/billing/subscriptions/current', { key: company.apiKey });
      assert.equal(shown.body.status, 'trialing');
      await waitOut(fault);
      await recover();
      const gone = asaas.subscriptions.get(subscription.asaas_subscription_id)!.deleted === true;
      await assertAgreed(company, gone ? 0 : 1);
      assert.deepEqual((await cancel()).body, { cancelled: gone ? 0 : 1 });
      await assertAgreed(company, 0);
    });
  }

  it('an add-on and the profile reach it in the end as they were last', async () => {
    const { subscription, ...company } = await withSubscription(billing);
    asaas.fault('PUT', { kind: '500-before' }, 4);
    const path = `/v1/billing/subscriptions/${subscription.id}/items`;
    await billing.call('POST', path, {
      key: company.apiKey,
      body: { addon_code: 'extra_user', quantity: 2 },
    });
    await runDueTask(billing.billing);
    await billing.call('POST', path, {
      key: company.apiKey,
      body: { addon_code: 'extra_user', quantity: 1 },
    });
    await billing.call('PATCH', '/v1/billing/profile', {
      key: company.apiKey,
      body: { email: 'a@example.test' },
    });
    await billing.call('PATCH', '/v1/billing/profile', {
      key: company.apiKey,
      body: { email: 'b@example.test' },
    });
    await recover();
    assert.equal(priceAt(subscription), 49.9 + 3 * 9.9);
    const { ourCustomers } = await bothSides(company);
    assert.equal(asaas.customers.get(ourCustomers[0]!)!.email, 'b@example.test');
  });
});

/** Waits until the provider has done its late work. */
async function waitOut(fault: AsaasFault): Promise<void> {
  if ('delayMs' in fault) await new Promise((resolve) => setTimeout(resolve, fault.delayMs + 50));
}
