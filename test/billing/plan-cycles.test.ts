import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addCycle } from '@posthorn/core/billing/dates.ts';
import { sendNextWebhook } from '@posthorn/core/billing/provider/simulated/send-webhooks.ts';
import { simulateAction } from '@posthorn/core/billing/provider/simulated/simulate-action.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import {
  drainEvents,
  startTestBilling,
  type TestBilling,
  WEBHOOK_SECRET,
  withSubscription,
} from './billing-harness.ts';

/** The provider has set the day of the charge after the next one, by the cycle that the plan had then. */

const PATH = '/v1/billing/subscriptions';

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

type Company = Awaited<ReturnType<typeof withSubscription>>;

/** The provider is not told yet. */
async function schedule({ apiKey, subscription }: Company, plan: string) {
  const { status } = await billing.call('POST', `${PATH}/${subscription.id}/change-plan`, {
    key: apiKey,
    body: { new_plan_code: plan },
  });
  assert.equal(status, 202);
}

async function change(company: Company, plan: string) {
  await schedule(company, plan);
  while (await runDueTask(billing.billing));
}

async function pay({ companyId }: Company) {
  await simulateAction(billing.billing, { companyId, action: 'pay', paymentId: null });
  const url = `${billing.url}/v1/webhooks/asaas`;
  while (await sendNextWebhook({ ...billing.billing, url, secret: WEBHOOK_SECRET }));
  await drainEvents(billing);
}

/** The charges at the provider, as `day amount`. */
async function charges(subscription: { asaas_subscription_id: string | null }): Promise<string[]> {
  const payments = await billing.billing.provider.listPayments(subscription.asaas_subscription_id!);
  return payments.map((payment) => `${payment.dueDate} ${payment.valueCents}`);
}

async function firstDueDate(subscription: { asaas_subscription_id: string | null }): Promise<string> {
  const [first] = await billing.billing.provider.listPayments(subscription.asaas_subscription_id!);
  return first!.dueDate;
}

describe('a change to a plan of another cycle', () => {
  for (const [from, to, cycle, priceCents] of [
    ['starter_yearly', 'starter_monthly', 'monthly', 4990],
    ['starter_monthly', 'starter_yearly', 'yearly', 49_900],
  ] as const)
    it(`from ${from} has the charge after the first ${cycle} one a cycle later`, async () => {
      const company = await withSubscription(billing, { plan_code: from });
      const due = await firstDueDate(company.subscription);
      await change(company, to);
      await pay(company);
      assert.deepEqual(await charges(company.subscription), [
        `${due} ${priceCents}`,
        `${addCycle(due, cycle)} ${priceCents}`,
      ]);
    });

  it('is taken back by the next change', async () => {
    const company = await withSubscription(billing);
    const due = await firstDueDate(company.subscription);
    await change(company, 'starter_yearly');
    await change(company, 'pro_monthly');
    await pay(company);
    assert.deepEqual(await charges(company.subscription), [
      `${due} 14990`,
      `${addCycle(due, 'monthly')} 14990`,
    ]);
  });

  it('leaves the time that was paid by the plan before', async () => {
    const company = await withSubscription(billing, { plan_code: 'starter_yearly' });
    const due = await firstDueDate(company.subscription);
    await pay(company);
    await change(company, 'starter_monthly');
    assert.deepEqual(await charges(company.subscription), [
      `${due} 49900`,
      `${addCycle(due, 'yearly')} 4990`,
    ]);
  });

  for (const [from, to, before, after] of [
    ['starter_monthly', 'starter_yearly', 'monthly', 'yearly'],
    ['starter_yearly', 'starter_monthly', 'yearly', 'monthly'],
  ] as const)
    it(`from ${from} that the provider learns of after a payment has brought it counts from the next charge`, async () => {
      const company = await withSubscription(billing, { plan_code: from });
      const due = await firstDueDate(company.subscription);
      await schedule(company, to);
      await pay(company);
      while (await runDueTask(billing.billing));
      await pay(company);
      const [price, newPrice] = before === 'monthly' ? [4990, 49_900] : [49_900, 4990];
      const next = addCycle(due, before);
      assert.deepEqual(await charges(company.subscription), [
        `${due} ${price}`,
        `${next} ${newPrice}`,
        `${addCycle(next, after)} ${newPrice}`,
      ]);
    });
});

describe('a change to a plan of the same cycle', () => {
  it('leaves the days of the provider, which need not be those that its pending charge would give', async () => {
    const company = await withSubscription(billing);
    const due = await firstDueDate(company.subscription);
    const { rows } = await billing.parts.db.query<{ day: string }>(
      `UPDATE billing.simulated_subscriptions SET next_due_date = next_due_date + 3 WHERE id = $1
       RETURNING next_due_date::text AS day`,
      [company.subscription.asaas_subscription_id],
    );
    await change(company, 'pro_monthly');
    await pay(company);
    assert.deepEqual(await charges(company.subscription), [`${due} 14990`, `${rows[0]!.day} 14990`]);
  });
});
