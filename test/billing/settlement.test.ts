import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addCycle, localDate, startOfLocalDay } from '@posthorn/core/billing/dates.ts';
import { advanceClock } from '@posthorn/core/billing/provider/simulated/advance-clock.ts';
import {
  CARD_CVV,
  CARD_NUMBER,
  drainEvents,
  startTestBilling,
  type TestBilling,
  withProfile,
} from './billing-harness.ts';
import { paymentEvent } from './provider-payloads.ts';

/** A card pays at once (PAYMENT_CONFIRMED), and its money comes a month later (PAYMENT_RECEIVED). */

const PATH = '/v1/billing/subscriptions';
const DAY_S = 86_400;
/** The time in which the provider settles a card payment. */
const SETTLED_AFTER_DAYS = 32;

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

describe('a card payment that is settled a month later', () => {
  it('pays for the time from its due date, not from its settlement', async () => {
    const story = await subscribeByCard('starter_yearly');
    const due = await story.toDueDay();
    await story.tell('PAYMENT_CONFIRMED', story.first);
    await story.pass(SETTLED_AFTER_DAYS);
    await story.tell('PAYMENT_RECEIVED', story.first);
    const { status, current_period_end } = await story.read();
    assert.equal(status, 'active');
    // The provider charges the card again that day: a cancellation for the end of the period must not come later.
    assert.equal(localDate(new Date(current_period_end)), addCycle(due, 'yearly'));
  });

  it('leaves the paid period usable after a cancellation for its end', async () => {
    const story = await subscribeByCard('starter_yearly');
    const due = await story.toDueDay();
    await story.tell('PAYMENT_CONFIRMED', story.first);
    await story.pass(5);
    assert.equal((await story.read()).status, 'trialing');
    await story.cancel();
    const { status, current_period_end } = await story.read();
    assert.equal(status, 'trialing');
    assert.equal(localDate(new Date(current_period_end)), addCycle(due, 'yearly'));
    await story.pass(370);
    assert.equal((await story.read()).status, 'cancelled');
  });

  it('does not settle charges that became overdue after the card had paid', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.toDueDay();
    await story.tell('PAYMENT_CONFIRMED', story.first);
    await story.tell('PAYMENT_RECEIVED', story.first);
    await story.tell('PAYMENT_CONFIRMED', 'pay_second');
    await story.pass(31);
    await story.tell('PAYMENT_OVERDUE', 'pay_third');
    assert.equal((await story.read()).status, 'past_due');
    await story.pass(1);
    await story.tell('PAYMENT_RECEIVED', 'pay_second');
    assert.equal((await story.read()).status, 'past_due');
    await story.pass(3);
    assert.equal((await story.read()).status, 'suspended');
    await story.tell('PAYMENT_CONFIRMED', 'pay_third');
    await story.tell('PAYMENT_RECEIVED', 'pay_third');
    assert.equal((await story.read()).status, 'active');
  });

  it('does not heal a chargeback that came after the card had paid', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.toDueDay();
    await story.tell('PAYMENT_CONFIRMED', story.first);
    await story.pass(31);
    await story.tell('PAYMENT_CONFIRMED', 'pay_charged_back');
    await story.tell('PAYMENT_CHARGEBACK_REQUESTED', 'pay_charged_back');
    await story.pass(1);
    await story.tell('PAYMENT_RECEIVED', story.first);
    assert.equal((await story.read()).status, 'suspended');
    await story.tell('PAYMENT_RECEIVED', 'pay_charged_back');
    assert.equal((await story.read()).status, 'active');
  });
});

describe('a plan change after the payment', () => {
  it('waits for the next one when a card has paid for the old plan', async () => {
    const story = await subscribeByCard('starter_monthly');
    const due = await story.toDueDay();
    await story.tell('PAYMENT_CONFIRMED', story.first);
    await story.pass(SETTLED_AFTER_DAYS);
    await story.change('business_yearly');
    await story.tell('PAYMENT_RECEIVED', story.first);
    const paid = await story.read();
    assert.deepEqual([paid.plan_code, paid.next_plan_code], ['starter_monthly', 'business_yearly']);
    assert.equal(localDate(new Date(paid.current_period_end)), addCycle(due, 'monthly'));
    await story.pass(1);
    await story.tell('PAYMENT_RECEIVED', 'pay_new_plan', { valueCents: 499_900 });
    const swapped = await story.read();
    assert.deepEqual([swapped.plan_code, swapped.next_plan_code], ['business_yearly', null]);
  });

  it('comes with the next receipt when its payment was not reported before, whenever that was', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.toDueDay();
    const paidAt = story.now();
    await story.pass(1 / DAY_S);
    await story.change('business_monthly');
    await story.tell('PAYMENT_RECEIVED', story.first, { at: paidAt });
    const paid = await story.read();
    assert.deepEqual([paid.plan_code, paid.next_plan_code], ['business_monthly', null]);
  });

  it('waits for the next one when a card has paid for another scheduled plan', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.change('pro_monthly');
    await story.toDueDay();
    await story.tell('PAYMENT_CONFIRMED', story.first);
    await story.change('business_monthly');
    await story.tell('PAYMENT_RECEIVED', story.first);
    const paid = await story.read();
    assert.deepEqual([paid.plan_code, paid.next_plan_code], ['pro_monthly', 'business_monthly']);
    await story.tell('PAYMENT_CONFIRMED', 'pay_second');
    await story.tell('PAYMENT_RECEIVED', 'pay_second');
    const swapped = await story.read();
    assert.deepEqual([swapped.plan_code, swapped.next_plan_code], ['business_monthly', null]);
  });

  it('stays when the money of an earlier payment comes after its own', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.change('pro_monthly');
    await story.toDueDay();
    await story.tell('PAYMENT_CONFIRMED', story.first);
    await story.change('business_monthly');
    await story.tell('PAYMENT_CONFIRMED', 'pay_second');
    await story.tell('PAYMENT_RECEIVED', 'pay_second');
    await story.tell('PAYMENT_RECEIVED', story.first);
    const paid = await story.read();
    assert.deepEqual([paid.plan_code, paid.next_plan_code], ['business_monthly', null]);
  });
});

describe('a charge that was overdue when the plan changed', () => {
  for (const [from, to, cycle] of [
    ['starter_yearly', 'starter_monthly', 'yearly'],
    ['starter_monthly', 'starter_yearly', 'monthly'],
  ] as const)
    it(`keeps its price, and pays for a ${cycle} cycle from ${from} to ${to}`, async () => {
      const story = await subscribeByCard(from);
      const due = await story.toDueDay();
      await story.tell('PAYMENT_OVERDUE', story.first);
      await story.change(to);
      await story.tell('PAYMENT_RECEIVED', story.first);
      const paid = await story.read();
      assert.deepEqual([paid.status, paid.plan_code], ['active', to]);
      // The provider makes the next charge that day: the end of the period must not come earlier.
      assert.equal(localDate(new Date(paid.current_period_end)), addCycle(due, cycle));
    });
});

describe('two charges that are both charged back', () => {
  it('suspend until the money of both is back', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.toDueDay();
    for (const charge of [story.first, 'pay_second'])
      for (const event of ['PAYMENT_CONFIRMED', 'PAYMENT_RECEIVED']) await story.tell(event, charge);
    for (const charge of [story.first, 'pay_second'])
      await story.tell('PAYMENT_CHARGEBACK_REQUESTED', charge);
    await story.tell('PAYMENT_RECEIVED', 'pay_second');
    assert.equal((await story.read()).status, 'suspended');
    await story.tell('PAYMENT_RECEIVED', story.first);
    assert.equal((await story.read()).status, 'active');
  });

  it('suspend until a payment that comes after both', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.toDueDay();
    for (const charge of [story.first, 'pay_second']) await story.tell('PAYMENT_RECEIVED', charge);
    for (const charge of [story.first, 'pay_second'])
      await story.tell('PAYMENT_CHARGEBACK_REQUESTED', charge);
    await story.tell('PAYMENT_RECEIVED', 'pay_third');
    assert.equal((await story.read()).status, 'active');
  });
});

describe('a cancellation for the end of the period', () => {
  it('comes before the card is charged on the last day of the trial', async () => {
    const story = await subscribeByCard('starter_monthly');
    await story.cancel();
    const { trial_ends_at } = await story.read();
    const day = startOfLocalDay(localDate(new Date(trial_ends_at)));
    await story.passTo(new Date(day.getTime() - 1000));
    assert.equal((await story.read()).status, 'trialing');
    await story.passTo(day);
    assert.equal((await story.read()).status, 'cancelled');
  });

  it('comes before the card is charged again after a late payment', async () => {
    const story = await subscribeByCard('starter_monthly');
    const due = await story.toDueDay();
    await story.tell('PAYMENT_OVERDUE', story.first);
    await story.pass(2);
    await story.tell('PAYMENT_RECEIVED', story.first);
    const next = addCycle(due, 'monthly');
    await story.tell('PAYMENT_CREATED', 'pay_next', { dueDate: next });
    await story.cancel();
    await story.passTo(new Date(startOfLocalDay(next).getTime() - 1000));
    assert.equal((await story.read()).status, 'active');
    await story.passTo(startOfLocalDay(next));
    assert.equal((await story.read()).status, 'cancelled');
  });
});

/** A company that has subscribed by card, and its later events, a second or more between any two of them. */
async function subscribeByCard(plan: string) {
  const { apiKey: key, companyId, profileId } = await withProfile(billing);
  const card = await billing.call('POST', '/v1/billing/cards/tokenize', {
    key,
    body: {
      billing_profile_id: profileId,
      number: CARD_NUMBER,
      cvv: CARD_CVV,
      exp_month: 12,
      exp_year: 2035,
    },
  });
  const made = await billing.call('POST', PATH, {
    key,
    body: { plan_code: plan, billing_type: 'credit_card', card_id: card.body.id },
  });
  assert.equal(made.status, 201);
  const subscription = made.body;
  const [charge] = (await billing.call('GET', '/v1/billing/charges', { key })).body.data;
  let now = billing.parts.clock.now();
  const pass = async (days: number) => {
    // Whole seconds, rounded up: a float may be slightly above one.
    const seconds = Math.ceil(days * DAY_S - 1e-4);
    ({ now } = await advanceClock(billing.billing, { companyId, seconds }));
  };
  return {
    first: charge.asaas_payment_id as string,
    now: () => now,
    pass,
    passTo: (moment: Date) => pass((moment.getTime() - now.getTime()) / 1000 / DAY_S),
    /** The first moment after the trial, on the day on which the first charge is due. */
    async toDueDay(): Promise<string> {
      await pass((Date.parse(subscription.trial_ends_at) - now.getTime()) / 1000 / DAY_S - 60 / DAY_S);
      return charge.due_date;
    },
    async tell(
      event: string,
      payment: string,
      options: { at?: Date; dueDate?: string; valueCents?: number } = {},
    ) {
      const paymentId = payment === charge.asaas_payment_id ? payment : `${payment}_${subscription.id}`;
      const dueDate =
        options.dueDate ?? (payment === charge.asaas_payment_id ? charge.due_date : localDate(now));
      const told = paymentEvent(event, subscription, { at: now, ...options, paymentId, dueDate });
      assert.equal((await billing.deliver(told)).status, 200);
      await drainEvents(billing);
      await pass(1 / DAY_S);
    },
    async change(newPlan: string) {
      const { status } = await billing.call('POST', `${PATH}/${subscription.id}/change-plan`, {
        key,
        body: { new_plan_code: newPlan },
      });
      assert.equal(status, 202);
      await pass(1 / DAY_S);
    },
    async cancel() {
      const { status } = await billing.call('POST', `${PATH}/${subscription.id}/cancel`, { key });
      assert.equal(status, 204);
    },
    read: async () => (await billing.call('GET', `${PATH}/current`, { key })).body,
  };
}
