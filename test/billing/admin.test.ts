import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { drainEvents, startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';
import { paymentEvent, subscriptionEvent } from './provider-payloads.ts';

const EVENTS = '/v1/billing/admin/webhook-events';
let billing: TestBilling;
let root: string;
before(async () => {
  billing = await startTestBilling();
  root = await billing.superadminJwt();
});
after(() => billing.close());

describe('the admin endpoints', () => {
  it('are for superadmins alone: 403 SUPERADMIN_REQUIRED in the full envelope', async () => {
    const company = await billing.company();
    const jwt = await billing.jwtOf(company);
    for (const [method, path] of [
      ['GET', '/v1/billing/admin/metrics'],
      ['GET', EVENTS],
      ['POST', `${EVENTS}/1/reprocess`],
    ] as const) {
      const { status, body } = await billing.call(method, path, { jwt });
      assert.equal(status, 403);
      assert.equal(body.error_code, 'SUPERADMIN_REQUIRED');
      assert.ok(body.trace_id);
    }
  });

  it('count the subscriptions by state and the monthly recurring revenue', async () => {
    const pay = async (body: Record<string, unknown>) => {
      const made = await withSubscription(billing, body);
      const at = billing.parts.clock.now();
      await billing.deliver(paymentEvent('PAYMENT_RECEIVED', made.subscription, { at }));
      await drainEvents(billing);
      return made;
    };
    await pay({ addons: [{ code: 'extra_user', quantity: 1 }] });
    await pay({ plan_code: 'pro_yearly' });
    const late = await pay({ plan_code: 'pro_monthly' });
    billing.parts.clock.advance(5_000);
    const at = billing.parts.clock.now();
    await billing.deliver(paymentEvent('PAYMENT_OVERDUE', late.subscription, { at }));
    const blocked = await withSubscription(billing);
    await billing.deliver(paymentEvent('PAYMENT_CHARGEBACK_REQUESTED', blocked.subscription, { at }));
    await drainEvents(billing);
    await withSubscription(billing);
    const { status, body } = await billing.call('GET', '/v1/billing/admin/metrics', { jwt: root });
    assert.equal(status, 200);
    assert.deepEqual(body, {
      total_active_subs: 2,
      total_trialing: 1,
      total_past_due: 1,
      total_suspended: 1,
      monthly_recurring_cents: 4990 + 990 + Math.round(149_900 / 12) + 14_990,
    });
  });

  it('list the provider events, newest first, page by page, without payloads', async () => {
    const { subscription } = await withSubscription(billing);
    const at = billing.parts.clock.now();
    for (let i = 0; i < 5; i += 1)
      await billing.deliver(paymentEvent('PAYMENT_CREATED', subscription, { at }));
    await drainEvents(billing);
    const seen: number[] = [];
    let before: number | null = null;
    do {
      const query: string = before === null ? '?limit=2' : `?limit=2&before=${before}`;
      const { status, body } = await billing.call('GET', EVENTS + query, { jwt: root });
      assert.equal(status, 200);
      assert.ok(body.data.length <= 2);
      for (const event of body.data) assert.ok(!('payload' in event));
      seen.push(...body.data.map((event: { id: number }) => event.id));
      before = body.next_before;
    } while (before !== null);
    const { rows } = await billing.parts.db.query<{ id: number }>(
      'SELECT id FROM billing.provider_events ORDER BY id DESC',
    );
    assert.deepEqual(
      seen,
      rows.map((row) => row.id),
    );
    const processed = await billing.call('GET', `${EVENTS}?status=processed&event=PAYMENT_CREATED`, {
      jwt: root,
    });
    assert.equal(processed.body.data.length, 5);
    assert.deepEqual((await billing.call('GET', `${EVENTS}?status=failed`, { jwt: root })).body.data, []);
  });

  it('process a failed event again, with all its attempts', async () => {
    const { apiKey, companyId, subscription } = await withSubscription(billing);
    await billing.parts.db.query(
      `UPDATE billing.subscriptions SET asaas_subscription_id = 'elsewhere' WHERE company_id = $1`,
      [companyId],
    );
    const event = subscriptionEvent(subscription, { at: billing.parts.clock.now() });
    await billing.deliver(event);
    for (let i = 0; i < 6; i += 1) {
      await drainEvents(billing);
      billing.parts.clock.advance(6 * 3_600_000);
    }
    // The clock has passed the end of the JWT.
    root = await billing.superadminJwt();
    const [failed] = (await billing.call('GET', `${EVENTS}?status=failed`, { jwt: root })).body.data;
    assert.equal(failed.provider_event_id, event.id);
    assert.equal(failed.attempts, 6);
    await billing.parts.db.query(
      'UPDATE billing.subscriptions SET asaas_subscription_id = $2 WHERE company_id = $1',
      [companyId, subscription.asaas_subscription_id],
    );
    const answer = await billing.call('POST', `${EVENTS}/${failed.id}/reprocess`, { jwt: root });
    assert.equal(answer.status, 202);
    assert.deepEqual(answer.body, { id: failed.id, status: 'pending' });
    await drainEvents(billing);
    assert.equal(
      (await billing.call('GET', '/v1/billing/subscriptions/current', { key: apiKey })).body.status,
      'cancelled',
    );
  });

  it('change nothing when a processed event is processed again', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const event = paymentEvent('PAYMENT_RECEIVED', subscription, { at: billing.parts.clock.now() });
    await billing.deliver(event);
    await drainEvents(billing);
    const look = async () => [
      (await billing.call('GET', '/v1/billing/subscriptions/current', { key: apiKey })).body,
      (await billing.call('GET', '/v1/billing/charges', { key: apiKey })).body,
    ];
    const before = await look();
    const { rows } = await billing.parts.db.query<{ id: number }>(
      'SELECT id FROM billing.provider_events WHERE provider_event_id = $1',
      [event.id],
    );
    assert.equal(
      (await billing.call('POST', `${EVENTS}/${rows[0]!.id}/reprocess`, { jwt: root })).status,
      202,
    );
    await drainEvents(billing);
    assert.deepEqual(await look(), before);
  });

  it('answer 404 EVENT_NOT_FOUND, 400 INVALID_ID and 502 ENQUEUE_FAILED', async () => {
    const missing = await billing.call('POST', `${EVENTS}/999999/reprocess`, { jwt: root });
    assert.deepEqual([missing.status, missing.body.error_code], [404, 'EVENT_NOT_FOUND']);
    const misshapen = await billing.call('POST', `${EVENTS}/abc/reprocess`, { jwt: root });
    assert.deepEqual([misshapen.status, misshapen.body.error_code], [400, 'INVALID_ID']);
    await billing.parts.db.query('REVOKE UPDATE ON billing.provider_events FROM posthorn_billing');
    const failed = await billing.call('POST', `${EVENTS}/1/reprocess`, { jwt: root });
    await billing.parts.db.query('GRANT UPDATE ON billing.provider_events TO posthorn_billing');
    assert.deepEqual([failed.status, failed.body.error_code], [502, 'ENQUEUE_FAILED']);
  });
});
