import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { removeOldRecords } from '@posthorn/core/billing/remove-old-records.ts';
import { drainEvents, startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';
import { paymentEvent } from './provider-payloads.ts';

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 400;

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

const remove = () => removeOldRecords(billing.billing, { retentionDays: RETENTION_DAYS });
const statuses = async (sql: string) =>
  (await billing.parts.db.query<{ status: string }>(sql)).rows.map((row) => row.status);
const events = () => statuses('SELECT status FROM billing.provider_events ORDER BY id');
const intents = () =>
  statuses('SELECT state AS status FROM billing.provider_intents ORDER BY created_at, state');

it('removes events of the provider when their time is over, never one that was not processed, and keeps the charges', async () => {
  const { apiKey, subscription } = await withSubscription(billing);
  const at = billing.parts.clock.now();
  await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at }));
  await billing.deliver({ id: 'evt_of_another_kind', event: 'PAYMENT_BANK_SLIP_VIEWED' });
  await drainEvents(billing);
  for (const id of ['pending', 'failed'])
    await billing.parts.db.query(
      `INSERT INTO billing.provider_events (provider_event_id, event, payload, event_at, status, received_at)
       VALUES ($1, 'PAYMENT_RECEIVED', '{}', $2, $1, $2)`,
      [id, at],
    );
  const charges = () => billing.call('GET', '/v1/billing/charges', { key: apiKey });
  const before = (await charges()).body;
  billing.parts.clock.advance((RETENTION_DAYS - 1) * DAY_MS);
  await remove();
  assert.deepEqual(await events(), ['processed', 'ignored', 'pending', 'failed']);
  billing.parts.clock.advance(2 * DAY_MS);
  await remove();
  assert.deepEqual(await events(), ['pending', 'failed']);
  assert.deepEqual((await charges()).body, before);
});

it('removes intents that ended, never one that the provider may still have to undo', async () => {
  await billing.parts.db.query('DELETE FROM billing.provider_intents');
  const at = billing.parts.clock.now();
  for (const state of ['started', 'undo', 'done', 'undone'])
    await billing.parts.db.query(
      `INSERT INTO billing.provider_intents (reference, company_id, kind, state, expires_at, next_attempt_at, created_at)
       VALUES (gen_random_uuid(), 1, 'subscription', $1, $2, $2, $2)`,
      [state, at],
    );
  billing.parts.clock.advance((RETENTION_DAYS - 1) * DAY_MS);
  await remove();
  assert.equal((await intents()).length, 4);
  billing.parts.clock.advance(2 * DAY_MS);
  await remove();
  assert.deepEqual(await intents(), ['started', 'undo']);
});
