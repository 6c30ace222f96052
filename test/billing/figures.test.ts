import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { showBillingFigures } from '@posthorn/worker/billing/show-figures.ts';
import { drainEvents, startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';
import { subscriptionEvent } from './provider-payloads.ts';

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

it('the figures of a worker say how many events of the provider failed for good, until somebody has them processed again', async () => {
  const metrics = createMetrics({ collectProcess: false });
  showBillingFigures({ db: billing.billing.db, metrics });
  const failed = async () => /^posthorn_billing_events_failed (\d+)$/m.exec(await metrics.read())?.[1];
  assert.equal(await failed(), '0');

  const { subscription } = await withSubscription(billing);
  const unknown = { ...subscription, asaas_subscription_id: 'sub_unknown' };
  await billing.deliver(subscriptionEvent(unknown, { at: billing.parts.clock.now() }));
  for (let attempt = 1; attempt <= 6; attempt++) {
    assert.equal(await failed(), '0', `before attempt ${attempt}`);
    await drainEvents(billing);
    billing.parts.clock.advance(6 * 3_600_000);
  }
  assert.equal(await failed(), '1');

  const root = await billing.superadminJwt();
  const path = '/v1/billing/admin/webhook-events';
  const listed = await billing.call('GET', `${path}?status=failed`, { jwt: root });
  const again = await billing.call('POST', `${path}/${listed.body.data[0].id}/reprocess`, { jwt: root });
  assert.equal(again.status, 202, again.text);
  assert.equal(await failed(), '0');
});

it('payments for subscriptions that were over are shown with 0 before there is one', async () => {
  const metrics = createMetrics({ collectProcess: false });
  const count = showBillingFigures({ db: billing.billing.db, metrics });
  const paid = async () =>
    /^posthorn_billing_payments_after_end_total (\d+)$/m.exec(await metrics.read())?.[1];
  assert.equal(await paid(), '0');
  count();
  assert.equal(await paid(), '1');
});
