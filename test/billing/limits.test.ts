import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { applyPlanLimits } from '@posthorn/core/accounts/company/apply-plan-limits.ts';
import { loadSessionRows } from '@posthorn/core/instances/load-sessions.ts';
import { DEFAULT_SHARDS } from '@posthorn/core/instances/shard.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import {
  INTERNAL_SECRET,
  startTestBilling,
  type TestBilling,
  withProfile,
  withSubscription,
} from './billing-harness.ts';
import { paymentEvent } from './provider-payloads.ts';

const DAY_MS = 86_400_000;
let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
  await billing.startWorker();
  // It begins to listen a moment later.
  await new Promise((resolve) => setTimeout(resolve, 300));
});
after(() => billing.close());

const limitsOf = async (companyId: number) => {
  const { rows } = await billing.parts.db.query<Record<string, number | Date | null>>(
    `SELECT max_instances, max_users, max_webhooks, requests_per_minute, storage_mb, message_retention_days,
       billing_suspended_at FROM companies WHERE id = $1`,
    [companyId],
  );
  return rows[0]!;
};

/** How long it takes until `condition` holds. */
async function timed(condition: () => Promise<boolean>): Promise<number> {
  const since = performance.now();
  await waitFor(condition, undefined, { everyMs: 5 });
  return performance.now() - since;
}

describe('the limits of a plan', () => {
  it('reach messaging after subscribing, adding, removing and cancelling (aim: within a second)', async () => {
    const company = await withProfile(billing);
    const made = await billing.call('POST', '/v1/billing/subscriptions', {
      key: company.apiKey,
      body: { plan_code: 'pro_monthly', billing_type: 'pix' },
    });
    const tookMs: number[] = [];
    tookMs.push(await timed(async () => (await limitsOf(company.companyId)).max_instances === 30));
    assert.deepEqual(await limitsOf(company.companyId), {
      max_instances: 30,
      max_users: 30,
      max_webhooks: 50,
      requests_per_minute: 1200,
      storage_mb: 51_200,
      message_retention_days: null,
      billing_suspended_at: null,
    });
    const path = `/v1/billing/subscriptions/${made.body.id}`;
    const added = await billing.call('POST', `${path}/items`, {
      key: company.apiKey,
      body: { addon_code: 'extra_instance', quantity: 5 },
    });
    tookMs.push(await timed(async () => (await limitsOf(company.companyId)).max_instances === 35));
    await billing.call('DELETE', `${path}/items/${added.body.id}`, { key: company.apiKey });
    tookMs.push(await timed(async () => (await limitsOf(company.companyId)).max_instances === 30));
    await billing.call('POST', `${path}/cancel`, { key: company.apiKey, body: { immediate: true } });
    tookMs.push(await timed(async () => (await limitsOf(company.companyId)).max_instances === null));
    assert.equal((await limitsOf(company.companyId)).requests_per_minute, null);
    tellFigure('limits reach messaging', Math.max(...tookMs), { atMost: 1_000 });
  });

  it('count from the next request on, also in processes that have cached the company', async () => {
    const company = await withProfile(billing);
    const limit = async () =>
      Number(
        (await billing.call('GET', '/v1/billing/cards', { key: company.apiKey })).headers.get(
          'x-ratelimit-limit',
        ),
      );
    assert.equal(await limit(), 20_000);
    await billing.call('POST', '/v1/billing/subscriptions', {
      key: company.apiKey,
      body: { plan_code: 'business_monthly', billing_type: 'pix' },
    });
    // The clock does not move, so no cache entry expires by itself.
    const tookMs = await timed(async () => (await limit()) === 6000);
    tellFigure('a cached limit is replaced', tookMs, { atMost: 1_000 });
  });
});

describe('a suspension', () => {
  /** The rows as the instances' owners read them: a suspension keeps the state that the users desired. */
  const wanted = async (companyId: number) => {
    const rows = await loadSessionRows(billing.parts.db, {
      shards: Array.from({ length: DEFAULT_SHARDS }, (_, shard) => shard),
    });
    const own = rows.filter((row) => row.companyId === companyId);
    return own.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((row) => row.desired);
  };

  it('disconnects the instances (aim: within a second), and a payment connects those again', async () => {
    const { companyId, apiKey, subscription } = await withSubscription(billing);
    await seedInstance(billing.parts.db, companyId, { wanted: 'connected' });
    await seedInstance(billing.parts.db, companyId, { wanted: 'disconnected' });
    await seedInstance(billing.parts.db, companyId, { wanted: 'connected' });
    const heard = new Set<string>();
    billing.parts.bus.on('instance', (id) => heard.add(id));
    await billing.deliver(
      paymentEvent('PAYMENT_CHARGEBACK_REQUESTED', subscription, { at: billing.parts.clock.now() }),
    );
    const downMs = await timed(async () =>
      (await wanted(companyId)).every((each) => each === 'disconnected'),
    );
    tellFigure('instances are told to disconnect', downMs, { atMost: 1_000 });
    assert.ok((await limitsOf(companyId)).billing_suspended_at);
    await waitFor(() => heard.size === 2);
    assert.equal(
      (await billing.call('GET', '/v1/billing/subscriptions/current', { key: apiKey })).body.status,
      'suspended',
    );
    billing.parts.clock.advance(5_000);
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at: billing.parts.clock.now() }));
    await waitFor(async () => (await wanted(companyId)).filter((each) => each === 'connected').length === 2);
    assert.deepEqual(await wanted(companyId), ['connected', 'disconnected', 'connected']);
    assert.equal((await limitsOf(companyId)).billing_suspended_at, null);
  });

  it('comes three days after past_due, by the clock alone', async () => {
    const { companyId, subscription } = await withSubscription(billing);
    const at = () => billing.parts.clock.now();
    const status = async () => {
      const { rows } = await billing.parts.db.query<{ status: string }>(
        'SELECT status FROM billing.subscriptions WHERE company_id = $1',
        [companyId],
      );
      return rows[0]!.status;
    };
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at: at() }));
    await waitFor(async () => (await status()) === 'active');
    billing.parts.clock.advance(5_000);
    await billing.deliver(paymentEvent('PAYMENT_OVERDUE', subscription, { at: at() }));
    await waitFor(async () => (await status()) === 'past_due');
    const { moveByClock } = await import('@posthorn/core/billing/subscriptions/move-by-clock.ts');
    billing.parts.clock.advance(3 * DAY_MS - 1);
    await moveByClock(billing.billing);
    assert.equal(await status(), 'past_due');
    billing.parts.clock.advance(1);
    await waitFor(async () => (await status()) === 'suspended');
    await waitFor(async () => (await limitsOf(companyId)).billing_suspended_at !== null);
  });
});

describe('entitlement updates that come twice, late or of nobody', () => {
  it('leave the company in the state of the newest', async () => {
    const { companyId } = await billing.company();
    const { db, clock } = billing.parts;
    const limits = { max_instances: 7, max_users: 7, max_webhooks: 7, requests_per_minute: 700 };
    const update = { company_id: companyId, limits, suspended: false };
    assert.equal(await applyPlanLimits({ db, clock }, { ...update, version: 5 }), true);
    for (const version of [5, 4, 1])
      assert.equal(
        await applyPlanLimits({ db, clock }, { ...update, limits: null, suspended: true, version }),
        false,
      );
    assert.equal((await limitsOf(companyId)).max_instances, 7);
    assert.equal(await applyPlanLimits({ db, clock }, { ...update, company_id: 999_999, version: 9 }), false);
  });
});

describe('POST /internal/v1/companies/{companyId}/cancel-subscriptions', () => {
  const cancel = (companyId: unknown, secret?: string) =>
    billing.call('POST', `/internal/v1/companies/${companyId}/cancel-subscriptions`, {
      headers: secret === undefined ? {} : { 'x-internal-secret': secret },
    });

  it('cancels here and at the provider, and returns the number; a repeat is safe', async () => {
    const { companyId, subscription } = await withSubscription(billing);
    const answer = await cancel(companyId, INTERNAL_SECRET);
    assert.deepEqual([answer.status, answer.body], [200, { cancelled: 1 }]);
    // Read without the API: the free limit, which counts from now on, is below the requests of this minute.
    const { rows } = await billing.parts.db.query<{ status: string }>(
      'SELECT status FROM billing.subscriptions WHERE id = $1',
      [subscription.id],
    );
    assert.equal(rows[0]!.status, 'cancelled');
    assert.equal(await billing.billing.provider.readSubscription(subscription.asaas_subscription_id), null);
    assert.deepEqual((await cancel(companyId, INTERNAL_SECRET)).body, { cancelled: 0 });
  });

  it('ends a suspended one too, and has nothing to do for a company without', async () => {
    const { companyId, subscription, apiKey } = await withSubscription(billing);
    await billing.deliver(
      paymentEvent('PAYMENT_CHARGEBACK_REQUESTED', subscription, { at: billing.parts.clock.now() }),
    );
    await waitFor(async () => {
      const { body } = await billing.call('GET', '/v1/billing/subscriptions/current', { key: apiKey });
      return body.status === 'suspended';
    });
    billing.parts.clock.advance(2_000);
    assert.deepEqual((await cancel(companyId, INTERNAL_SECRET)).body, { cancelled: 1 });
    const company = await billing.company();
    assert.deepEqual((await cancel(company.companyId, INTERNAL_SECRET)).body, { cancelled: 0 });
  });

  it('refuses callers that cannot prove to be messaging', async () => {
    for (const secret of [undefined, '', 'nonsense', `${INTERNAL_SECRET}x`, INTERNAL_SECRET.slice(1)]) {
      const { status, body } = await cancel(1, secret);
      assert.deepEqual([status, body.error_code], [401, 'UNAUTHORIZED']);
    }
    assert.equal((await cancel('abc', INTERNAL_SECRET)).body.error_code, 'INVALID_ID');
  });
});
