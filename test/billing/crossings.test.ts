import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { addCycle, localDate } from '@posthorn/core/billing/dates.ts';
import { undoDueIntents } from '@posthorn/core/billing/provider/provider-intents.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import { moveByClock } from '@posthorn/core/billing/subscriptions/move-by-clock.ts';
import type { Answer } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { type AsaasServer, startAsaasServer } from './asaas-server.ts';
import {
  CARD_CVV,
  CARD_NUMBER,
  drainEvents,
  startTestBilling,
  type TestBilling,
  withSubscription,
} from './billing-harness.ts';
import { paymentEvent } from './provider-payloads.ts';

/** Payments and chargebacks that arrive before the provider has got a change. */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const PATH = '/v1/billing/subscriptions';

let asaas: AsaasServer;
let billing: TestBilling;
before(async () => {
  asaas = await startAsaasServer();
  billing = await startTestBilling({ asaas });
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

async function tell(event: string, subscription: Answer['body'], paymentId = 'pay_first'): Promise<void> {
  const at = billing.parts.clock.now();
  await billing.deliver(paymentEvent(event, subscription, { at, paymentId }));
  await drainEvents(billing);
}

async function pass(ms: number): Promise<void> {
  billing.parts.clock.advance(ms);
  await moveByClock(billing.billing);
}

const read = async ({ apiKey }: SeededCompany) =>
  (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body;
const atProvider = (subscription: Answer['body']) =>
  asaas.subscriptions.get(subscription.asaas_subscription_id)!;
const ofCustomer = (subscription: Answer['body']) =>
  [...asaas.subscriptions.values()].filter(({ customer }) => customer === atProvider(subscription).customer);

describe('a plan change that the provider could not be told before the trial ended', () => {
  it('reaches it in the end: the late payment that converts the trial applies the plan', async () => {
    const { subscription, ...company } = await withSubscription(billing, { billing_type: 'boleto' });
    await pass(30 * DAY_MS - HOUR_MS);
    asaas.fault('PUT /subscriptions', { kind: '500-before' }, 9);
    const body = { new_plan_code: 'pro_monthly' };
    const changed = await billing.call('POST', `${PATH}/${subscription.id}/change-plan`, {
      key: company.apiKey,
      body,
    });
    assert.equal(changed.status, 202);
    await runDueTask(billing.billing);
    await pass(2 * HOUR_MS);
    assert.equal((await read(company)).status, 'expired');
    await recover();
    await tell('PAYMENT_RECEIVED', subscription, 'pay_late');
    const { status, plan_code } = await read(company);
    assert.deepEqual([status, plan_code], ['active', 'pro_monthly']);
    assert.equal(atProvider(subscription).value, 149.9);
  });
});

describe('a change to a yearly plan while the provider has made two monthly charges ahead', () => {
  async function withTwoCharges() {
    const { subscription, apiKey } = await withSubscription(billing);
    const ofIt = () =>
      [...asaas.payments.values()].filter((each) => each.subscription === subscription.asaas_subscription_id);
    const [first] = ofIt();
    const due = String(first!.dueDate);
    const second = { ...first, id: `${first!.id}_2`, dueDate: addCycle(due, 'monthly') };
    asaas.payments.set(second.id, second);
    return {
      subscription,
      first: first!,
      due,
      second,
      change: async (plan: string) => {
        const body = { new_plan_code: plan };
        const path = `${PATH}/${subscription.id}/change-plan`;
        assert.equal((await billing.call('POST', path, { key: apiKey, body })).status, 202);
        while (await runDueTask(billing.billing));
      },
      open: () =>
        ofIt()
          .filter(({ deleted, status }) => !deleted && status === 'PENDING')
          .map(({ dueDate, value }) => [dueDate, value]),
    };
  }

  it('is charged for the year once: the second one goes', async () => {
    const { subscription, due, second, change, open } = await withTwoCharges();
    await change('pro_monthly');
    assert.deepEqual(open(), [
      [due, 149.9],
      [second.dueDate, 149.9],
    ]);
    await change('starter_yearly');
    assert.deepEqual(open(), [[due, 499]]);
    assert.equal(atProvider(subscription).nextDueDate, addCycle(due, 'yearly'));
  });

  it('is charged for the year once, too, when the second one cannot go before the first is paid', async () => {
    const { subscription, first, due, second, change, open } = await withTwoCharges();
    asaas.fault('DELETE /payments', { kind: '500-before' });
    await change('starter_yearly');
    const paid = { at: billing.parts.clock.now(), paymentId: String(first.id), dueDate: due };
    first.status = 'RECEIVED';
    const valueCents = Math.round(Number(first.value) * 100);
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { ...paid, valueCents }));
    await drainEvents(billing);
    await recover();
    assert.deepEqual(
      [[due, first.value], ...open()],
      [
        [due, 49.9],
        [second.dueDate, 499],
      ],
    );
    assert.equal(atProvider(subscription).nextDueDate, addCycle(second.dueDate, 'yearly'));
  });
});

describe('a charge that is paid at the price of the plan before', () => {
  for (const when of ['before', 'after'] as const)
    it(`pays for a cycle of that plan when it was paid ${when} the change, which the provider did not know of`, async () => {
      const { subscription, ...company } = await withSubscription(billing, { plan_code: 'starter_yearly' });
      const [charge] = (await billing.call('GET', '/v1/billing/charges', { key: company.apiKey })).body.data;
      const paidAt = billing.parts.clock.now();
      asaas.fault('PUT /subscriptions', { kind: '500-before' }, 9);
      if (when === 'before') asaas.payments.get(charge.asaas_payment_id)!.status = 'RECEIVED';
      await pass(HOUR_MS);
      const changed = await billing.call('POST', `${PATH}/${subscription.id}/change-plan`, {
        key: company.apiKey,
        body: { new_plan_code: 'starter_monthly' },
      });
      assert.equal(changed.status, 202);
      if (when === 'before') await recover();
      await runDueTask(billing.billing);
      const at = when === 'before' ? paidAt : billing.parts.clock.now();
      const paid = { at, paymentId: charge.asaas_payment_id, dueDate: charge.due_date, valueCents: 49_900 };
      await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, paid));
      await drainEvents(billing);
      asaas.payments.get(charge.asaas_payment_id)!.status = 'RECEIVED';
      await recover();
      const { plan_code, current_period_end } = await read(company);
      assert.equal(plan_code, 'starter_monthly');
      assert.equal(localDate(new Date(current_period_end)), addCycle(charge.due_date, 'yearly'));
      // The provider's next charge is not moved either.
      assert.equal(atProvider(subscription).nextDueDate, charge.due_date);
    });

  it('pays for a cycle of the new plan once the provider has changed its price', async () => {
    const { subscription, ...company } = await withSubscription(billing, { plan_code: 'starter_yearly' });
    const [charge] = (await billing.call('GET', '/v1/billing/charges', { key: company.apiKey })).body.data;
    const body = { new_plan_code: 'starter_monthly' };
    const path = `${PATH}/${subscription.id}/change-plan`;
    assert.equal((await billing.call('POST', path, { key: company.apiKey, body })).status, 202);
    await recover();
    const paid = { paymentId: charge.asaas_payment_id, dueDate: charge.due_date };
    const at = billing.parts.clock.now();
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { ...paid, at }));
    await drainEvents(billing);
    const { current_period_end } = await read(company);
    assert.equal(localDate(new Date(current_period_end)), addCycle(charge.due_date, 'monthly'));
  });
});

describe('a charge whose new price the provider has, and whose answer was lost', () => {
  for (const [from, to, cycle, valueCents] of [
    ['starter_yearly', 'starter_monthly', 'monthly', 4990],
    ['starter_monthly', 'starter_yearly', 'yearly', 49_900],
  ] as const)
    it(`pays for a ${cycle} cycle from ${from} to ${to}`, async () => {
      const { subscription, ...company } = await withSubscription(billing, { plan_code: from });
      const [charge] = (await billing.call('GET', '/v1/billing/charges', { key: company.apiKey })).body.data;
      asaas.fault('PUT /subscriptions', { kind: '500-after' });
      const body = { new_plan_code: to };
      const path = `${PATH}/${subscription.id}/change-plan`;
      assert.equal((await billing.call('POST', path, { key: company.apiKey, body })).status, 202);
      while (await runDueTask(billing.billing));
      const payment = asaas.payments.get(charge.asaas_payment_id)!;
      assert.equal(payment.value, valueCents / 100);
      payment.status = 'RECEIVED';
      const paid = { paymentId: charge.asaas_payment_id, dueDate: charge.due_date, valueCents };
      const at = billing.parts.clock.now();
      await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { ...paid, at }));
      await drainEvents(billing);
      await recover();
      const { plan_code, current_period_end } = await read(company);
      assert.equal(plan_code, to);
      assert.equal(localDate(new Date(current_period_end)), addCycle(charge.due_date, cycle));
    });
});

describe('a cancelled subscription that is charged back before the provider has ended it', () => {
  it('is ended there although it is suspended here', async () => {
    const { subscription, ...company } = await withSubscription(billing, { billing_type: 'boleto' });
    await tell('PAYMENT_RECEIVED', subscription, 'pay_charged_back');
    asaas.fault('DELETE /subscriptions', { kind: '500-before' }, 9);
    const cancelled = await billing.call('POST', `${PATH}/${subscription.id}/cancel`, {
      key: company.apiKey,
      body: { immediate: true },
    });
    assert.equal(cancelled.status, 204);
    await runDueTask(billing.billing);
    billing.parts.clock.advance(HOUR_MS / 60);
    await tell('PAYMENT_CHARGEBACK_REQUESTED', subscription, 'pay_charged_back');
    assert.equal((await read(company)).status, 'suspended');
    await recover();
    assert.equal(atProvider(subscription).deleted, true);
  });
});

describe('a cancelled subscription whose end the provider could not be told for hours', () => {
  it('is ended there as soon as its company subscribes again', async () => {
    const { subscription, ...company } = await withSubscription(billing, { billing_type: 'boleto' });
    await tell('PAYMENT_RECEIVED', subscription, 'pay_before_the_outage');
    asaas.fault('DELETE /subscriptions', { kind: '500-before' }, 99);
    const cancelled = await billing.call('POST', `${PATH}/${subscription.id}/cancel`, {
      key: company.apiKey,
      body: { immediate: true },
    });
    assert.equal(cancelled.status, 204);
    for (const minutes of [0, 1, 1, 5, 15, 60]) {
      billing.parts.clock.advance(minutes * MINUTE_MS);
      await runDueTask(billing.billing);
    }
    asaas.clearFaults();
    const again = await billing.call('POST', PATH, {
      key: company.apiKey,
      body: { plan_code: 'starter_monthly', billing_type: 'boleto' },
    });
    assert.equal(again.status, 201, again.text);
    while (await runDueTask(billing.billing));
    assert.deepEqual(
      ofCustomer(subscription).map(({ deleted }) => deleted),
      [true, false],
    );
  });
});

describe('a late payment for an expired trial that comes while its company subscribes again', () => {
  it('converts it, and the new subscription answers 409 SUBSCRIPTION_EXISTS and is undone', async () => {
    const { subscription, ...company } = await withSubscription(billing, { billing_type: 'boleto' });
    await pass(30 * DAY_MS + HOUR_MS);
    assert.equal((await read(company)).status, 'expired');
    const paid = Promise.withResolvers<void>();
    asaas.fault('POST /subscriptions', { kind: 'slow', until: paid.promise });
    const subscribing = billing.call('POST', PATH, {
      key: company.apiKey,
      body: { plan_code: 'starter_monthly', billing_type: 'boleto' },
    });
    await waitFor(() => ofCustomer(subscription).length === 2);
    await tell('PAYMENT_RECEIVED', subscription, 'pay_on_the_last_day');
    paid.resolve();
    const { status, body } = await subscribing;
    assert.deepEqual([status, body.error_code], [409, 'SUBSCRIPTION_EXISTS']);
    await recover();
    assert.deepEqual([(await read(company)).id, (await read(company)).status], [subscription.id, 'active']);
    assert.ok(!atProvider(subscription).deleted);
    const others = ofCustomer(subscription).filter(({ id }) => id !== subscription.asaas_subscription_id);
    assert.deepEqual(
      others.map(({ deleted }) => deleted),
      [true],
    );
  });
});

describe('a card that is charged for a subscription without a trial', () => {
  /** A company whose trial is over, and how it subscribes by card. */
  async function withCard() {
    const company = await withSubscription(billing);
    const { apiKey: key, profileId } = company;
    await billing.call('POST', `${PATH}/${company.subscription.id}/cancel`, {
      key,
      body: { immediate: true },
    });
    await pass(31 * DAY_MS);
    await recover();
    const card = await billing.call('POST', '/v1/billing/cards/tokenize', {
      key,
      body: {
        billing_profile_id: profileId,
        number: CARD_NUMBER,
        cvv: CARD_CVV,
        exp_month: 12,
        exp_year: 2040,
      },
    });
    const body = { plan_code: 'starter_monthly', billing_type: 'credit_card', card_id: card.body.id };
    const subscribe = () => billing.call('POST', PATH, { key, body });
    const first = (await subscribe()).body;
    assert.equal(first.status, 'expired');
    const [charge] = (await billing.call('GET', '/v1/billing/charges', { key })).body.data;
    return { company, subscribe, first, paymentId: charge.asaas_payment_id as string };
  }

  it('is not charged again by another one before the provider has told of it, nor after', async () => {
    const { company, subscribe, first, paymentId } = await withCard();
    const again = await subscribe();
    assert.deepEqual([again.status, again.body.error_code], [409, 'SUBSCRIPTION_EXISTS']);
    await tell('PAYMENT_CONFIRMED', first, paymentId);
    assert.equal((await subscribe()).status, 409);
    await tell('PAYMENT_RECEIVED', first, paymentId);
    assert.deepEqual([(await read(company)).id, (await read(company)).status], [first.id, 'active']);
    assert.equal(ofCustomer(first).filter(({ deleted }) => !deleted).length, 1);
  });

  it('can be followed by another one when it was refused', async () => {
    const { company, subscribe, first, paymentId } = await withCard();
    await tell('PAYMENT_OVERDUE', first, paymentId);
    const again = await subscribe();
    assert.equal(again.status, 201, again.text);
    await recover();
    assert.equal((await read(company)).id, again.body.id);
    assert.ok(atProvider(first).deleted);
  });
});

describe('the end of a trial that cannot be written', () => {
  it('holds up that of no other company, and comes when it can be', async () => {
    const { db } = billing.parts;
    const broken = await withSubscription(billing);
    billing.parts.clock.advance(1_000);
    const sound = await withSubscription(billing);
    await db.query(
      `ALTER TABLE billing.subscriptions
       ADD CONSTRAINT broken CHECK (id <> ${broken.subscription.id} OR status <> 'expired') NOT VALID`,
    );
    await pass(30 * DAY_MS);
    assert.deepEqual([(await read(broken)).status, (await read(sound)).status], ['trialing', 'expired']);
    await db.query('ALTER TABLE billing.subscriptions DROP CONSTRAINT broken');
    await pass(0);
    assert.equal((await read(broken)).status, 'expired');
  });
});
