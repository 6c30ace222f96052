import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { addCycle, localDate } from '@posthorn/core/billing/dates.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import { moveByClock } from '@posthorn/core/billing/subscriptions/move-by-clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import type { Answer } from '../support/messaging.ts';
import { drainEvents, startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';
import { paymentEvent, subscriptionEvent } from './provider-payloads.ts';

/** A payment is told by the provider after the clock has ended the subscription that it paid for. */

const PATH = '/v1/billing/subscriptions';
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let billing: TestBilling;
const errors: Record<string, unknown>[] = [];
let counted = 0;
before(async () => {
  const to = { write: (line: string) => void errors.push(JSON.parse(line)) };
  billing = await startTestBilling({
    log: createLog({ level: 'error', role: 'test', stormWindowMs: 0, to }),
  });
});
after(() => billing.close());
beforeEach(() => {
  errors.splice(0);
  counted = 0;
});

describe('a payment from before the end of a period that was to be the last', () => {
  for (const order of ['before', 'after'] as const)
    it(`counts when it is told after the end, ${order} the provider's word of its end`, async () => {
      const story = await subscribe();
      await story.post('change-plan', { new_plan_code: 'pro_monthly' });
      await story.post('cancel');
      const paidAt = await story.passTheTrial();
      assert.equal((await story.read()).status, 'cancelled');
      if (order === 'after') await story.tellDeleted();
      await story.tellPaid({ at: paidAt });
      if (order === 'before') await story.tellDeleted();
      const paid = await story.read();
      assert.deepEqual(
        [paid.status, paid.plan_code, paid.cancel_at_period_end],
        ['active', 'pro_monthly', true],
      );
      assert.equal(localDate(new Date(paid.current_period_end)), addCycle(story.dueDate, 'monthly'));
      assert.deepEqual(errors, []);
      await story.passTo(new Date(Date.parse(paid.current_period_end) - 1));
      assert.equal((await story.read()).status, 'active');
      await story.passTo(new Date(paid.current_period_end));
      assert.equal((await story.read()).status, 'cancelled');
    });

  it('counts no more once the company has cancelled at once what it had left', async () => {
    const story = await subscribe();
    await story.post('cancel');
    const paidAt = await story.passTheTrial();
    await story.tellPaid({ at: paidAt });
    await story.post('cancel', { immediate: true });
    await story.tellPaid({ at: paidAt, paymentId: `${story.chargeId}_2` });
    assert.equal((await story.read()).status, 'cancelled');
  });

  it('counts for a boleto by the day on which it was paid', async () => {
    const story = await subscribe('boleto');
    await story.post('cancel');
    const paidAt = await story.passTheTrial();
    await story.passTo(new Date(paidAt.getTime() + 2 * DAY_MS));
    await story.tellPaid({ at: story.now(), paidOn: localDate(paidAt) });
    const paid = await story.read();
    assert.deepEqual([paid.status, paid.cancel_at_period_end], ['active', true]);
  });

  it('has no provider left to tell of another plan', async () => {
    const story = await subscribe();
    await story.post('cancel');
    await story.tellPaid({ at: await story.passTheTrial() });
    await story.post('change-plan', { new_plan_code: 'business_monthly' });
    while (await runDueTask(billing.billing));
    assert.equal(await story.tasks(), 0);
  });
});

describe('a payment from before the end of an expired trial at the provider', () => {
  it('counts when it is told after, until the end of what it paid', async () => {
    const story = await subscribe();
    const paidAt = await story.passTheTrial();
    assert.equal((await story.read()).status, 'expired');
    await story.passTo(new Date(paidAt.getTime() + 4 * DAY_MS));
    await story.tellDeleted();
    await story.tellPaid({ at: paidAt });
    const paid = await story.read();
    assert.deepEqual([paid.status, paid.cancel_at_period_end], ['active', true]);
    await story.passTo(new Date(paid.current_period_end));
    assert.equal((await story.read()).status, 'cancelled');
    assert.deepEqual(errors, []);
  });
});

describe('a payment that brings nothing back', () => {
  const isTold = () => {
    assert.deepEqual(
      errors.map(({ level, msg }) => [level, msg]),
      [[50, 'a payment came for a subscription that is over: look whether the provider has to refund it']],
    );
    assert.equal(counted, 1);
  };

  it('is told to operators when it came after the end', async () => {
    const story = await subscribe();
    await story.post('cancel');
    await story.passTheTrial();
    await story.passTo(new Date(story.now().getTime() + MINUTE_MS));
    await story.tellPaid({ at: story.now() });
    assert.equal((await story.read()).status, 'cancelled');
    isTold();
  });

  it('is told to operators when the company had cancelled at once meanwhile', async () => {
    const story = await subscribe();
    const paidAt = story.now();
    await story.passTo(new Date(paidAt.getTime() + MINUTE_MS));
    await story.post('cancel', { immediate: true });
    await story.tellPaid({ at: paidAt });
    assert.equal((await story.read()).status, 'cancelled');
    isTold();
  });

  it('is told to operators when the company has subscribed again', async () => {
    const story = await subscribe();
    await story.post('cancel');
    const paidAt = await story.passTheTrial();
    const again = await billing.call('POST', PATH, {
      key: story.key,
      body: { plan_code: 'starter_monthly', billing_type: 'pix' },
    });
    assert.equal(again.status, 201);
    await story.tellPaid({ at: paidAt });
    const shown = await story.read();
    assert.deepEqual([shown.id, shown.status], [again.body.id, 'expired']);
    isTold();
  });

  it('is no payment that had its time before: the settlement of a card', async () => {
    const story = await subscribe();
    const paidAt = story.now();
    await story.tellPaid({ at: paidAt, event: 'PAYMENT_CONFIRMED' });
    await story.post('cancel');
    await story.passTo(new Date((await story.read()).current_period_end));
    assert.equal((await story.read()).status, 'cancelled');
    await story.tellPaid({ at: story.now() });
    assert.equal((await story.read()).status, 'cancelled');
    assert.deepEqual(errors, []);
  });
});

/** A company that has subscribed, and its later events. */
async function subscribe(billingType = 'pix') {
  const { apiKey: key, subscription } = await withSubscription(billing, { billing_type: billingType });
  const [charge] = (await billing.call('GET', '/v1/billing/charges', { key })).body.data;
  const now = () => billing.parts.clock.now();
  /** Time passes, and the worker does what has become due. */
  async function passTo(moment: Date): Promise<void> {
    billing.parts.clock.advance(moment.getTime() - now().getTime());
    await moveByClock(billing.billing);
    while (await runDueTask(billing.billing));
  }
  const deliver = async (event: Record<string, unknown>) => {
    await billing.deliver(event);
    await drainEvents(billing, { countPaymentAfterEnd: () => (counted += 1) });
  };
  return {
    key,
    chargeId: charge.asaas_payment_id as string,
    dueDate: charge.due_date as string,
    now,
    passTo,
    /** To the minute after the trial; the answer is the minute before its end. */
    async passTheTrial(): Promise<Date> {
      const end = Date.parse(subscription.trial_ends_at);
      await passTo(new Date(end + MINUTE_MS));
      return new Date(end - MINUTE_MS);
    },
    async post(action: string, body: object = {}): Promise<void> {
      const answer = await billing.call('POST', `${PATH}/${subscription.id}/${action}`, { key, body });
      assert.ok(answer.status < 300, answer.text);
    },
    async tellPaid(told: { at: Date; event?: string; paymentId?: string; paidOn?: string }): Promise<void> {
      const event = paymentEvent(told.event ?? 'PAYMENT_RECEIVED', subscription, {
        at: told.at,
        paymentId: told.paymentId ?? charge.asaas_payment_id,
        dueDate: charge.due_date,
      });
      Object.assign(event.payment as object, { clientPaymentDate: told.paidOn ?? null });
      await deliver(event);
    },
    tellDeleted: () => deliver(subscriptionEvent(subscription, { at: now() })),
    read: async (): Promise<Answer['body']> => (await billing.call('GET', `${PATH}/current`, { key })).body,
    async tasks(): Promise<number> {
      const { rowCount } = await billing.parts.db.query(
        'SELECT FROM billing.provider_tasks WHERE subject_id = $1',
        [subscription.id],
      );
      return rowCount ?? 0;
    },
  };
}
