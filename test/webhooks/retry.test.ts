import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import {
  advance,
  emitEvents,
  logsOf,
  pendingOf,
  seedWebhook,
  startDispatcher,
  startReceiver,
} from './support.ts';

let messaging: TestMessaging;
let company: SeededCompany;
before(async () => {
  messaging = await startTestMessaging();
  company = await seedCompany(messaging.parts.db);
});
after(() => messaging.close());

/** A webhook whose endpoint answers `status()`, and one event whose first attempt has been logged. */
async function setUp(status: () => number) {
  const { parts } = messaging;
  const own = await seedCompany(parts.db);
  const receiver = await startReceiver((_req, res) => void res.writeHead(status()).end());
  const webhook = await seedWebhook(parts.db, own.companyId, receiver.url);
  // The clock of the parts does not move, so the schedule retries nothing.
  const dispatcher = await startDispatcher(parts, { clock: parts.clock });
  await emitEvents(parts, own.companyId, 1, { createdAt: parts.clock.now() });
  const logged = (count: number) =>
    waitFor(async () => {
      const logs = await logsOf(parts.db, webhook.id);
      return logs.length >= count && logs;
    });
  const [first] = await logged(1);
  return {
    own,
    webhook,
    receiver,
    logId: first!.id,
    logged,
    close: () => Promise.all([dispatcher.close(), receiver.close()]),
    retry: (logId = first!.id, key = own.apiKey) =>
      messaging.call('POST', `/v1/webhooks/${webhook.id}/logs/${logId}/retry`, { key }),
    bulk: (logIds: number[], key = own.apiKey) =>
      messaging.call('POST', '/v1/webhooks/retry-bulk', { key, body: { log_ids: logIds } }),
  };
}

test('a manual retry takes the place of the scheduled one, and the numbers continue', async (t) => {
  let status = 500;
  const delivery = await setUp(() => status);
  t.after(delivery.close);
  assert.equal(await pendingOf(messaging.parts.db, delivery.webhook.id), 1, 'a retry is scheduled');
  status = 200;
  const retried = await delivery.retry();
  assert.deepEqual([retried.status, retried.body], [202, { queued: 1, skipped: [] }]);
  const logs = await delivery.logged(2);
  assert.deepEqual(
    logs.map((log) => [log.attempt, log.success]),
    [
      [1, false],
      [2, true],
    ],
  );
  assert.equal(await pendingOf(messaging.parts.db, delivery.webhook.id), 0, 'the scheduled one is gone');
  await advance(messaging.parts.clock, 24 * 3_600_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(delivery.receiver.requests, 2);
});

test('deliveries that failed for good or succeeded can be replayed under the next number', async (t) => {
  let status = 422;
  const delivery = await setUp(() => status);
  t.after(delivery.close);
  for (const attempt of [2, 3]) {
    await advance(messaging.parts.clock, 3_600_000);
    await delivery.logged(attempt);
  }
  assert.equal(await pendingOf(messaging.parts.db, delivery.webhook.id), 0);
  const stuck = await messaging.call('GET', '/v1/webhooks/stuck', { key: delivery.own.apiKey });
  assert.equal(stuck.body.total, 1);
  assert.equal(stuck.body.data[0].is_hard_failed, true);
  // Refused once more: it still counts as failed for good, and nothing is scheduled.
  await delivery.bulk([stuck.body.data[0].log_id]);
  await delivery.logged(4);
  assert.equal(await pendingOf(messaging.parts.db, delivery.webhook.id), 0);
  status = 200;
  await delivery.bulk([stuck.body.data[0].log_id]);
  await delivery.logged(5);
  await delivery.bulk([stuck.body.data[0].log_id]);
  const logs = await delivery.logged(6);
  assert.deepEqual(
    logs.map((log) => log.attempt),
    [1, 2, 3, 4, 5, 6],
  );
  const bodies = new Set(delivery.receiver.received.map((request) => request.body));
  assert.equal(bodies.size, 1, 'the same bytes each time');
  const none = await messaging.call('GET', '/v1/webhooks/stuck', { key: delivery.own.apiKey });
  assert.equal(none.body.total, 0);
});

test('a delivery whose eight attempts failed can be retried by hand: one attempt more, and none is scheduled', async (t) => {
  let status = 500;
  const delivery = await setUp(() => status);
  t.after(delivery.close);
  const { db, clock } = messaging.parts;
  const isGivenUp = () => waitFor(async () => (await pendingOf(db, delivery.webhook.id)) === 0);
  await db.query('UPDATE webhook_deliveries SET attempts = 7 WHERE webhook_id = $1', [delivery.webhook.id]);
  await advance(clock, 3_600_000);
  await isGivenUp();
  await delivery.retry();
  await delivery.logged(3);
  await isGivenUp();
  status = 200;
  await delivery.retry();
  const logs = await delivery.logged(4);
  assert.deepEqual(
    logs.map(({ attempt, success }) => [attempt, success]),
    [
      [1, false],
      [8, false],
      [9, false],
      [10, true],
    ],
  );
});

test('retry-bulk names skipped logs with the reason; foreign logs are not found', async (t) => {
  const delivery = await setUp(() => 500);
  t.after(delivery.close);
  const { db } = messaging.parts;
  const foreign = await delivery.bulk([delivery.logId], company.apiKey);
  assert.deepEqual(foreign.body, { queued: 0, skipped: [{ log_id: delivery.logId, reason: 'not_found' }] });
  const twice = await delivery.bulk([delivery.logId, delivery.logId, 999_999_999]);
  assert.equal(twice.status, 202);
  assert.deepEqual(twice.body, {
    queued: 1,
    skipped: [
      { log_id: delivery.logId, reason: 'duplicate' },
      { log_id: 999_999_999, reason: 'not_found' },
    ],
  });
  await delivery.logged(2);
  await db.query(
    `UPDATE webhook_deliveries SET leased_until = now() + interval '10 days' WHERE webhook_id = $1`,
    [delivery.webhook.id],
  );
  const reasons = async () => (await delivery.bulk([delivery.logId])).body.skipped[0]?.reason;
  assert.equal(await reasons(), 'in_progress');
  await db.query('UPDATE webhook_deliveries SET leased_until = NULL WHERE webhook_id = $1', [
    delivery.webhook.id,
  ]);
  await db.query('UPDATE webhooks SET enabled = false WHERE id = $1', [delivery.webhook.id]);
  assert.equal(await reasons(), 'webhook_disabled');
  await db.query('UPDATE webhooks SET enabled = true WHERE id = $1', [delivery.webhook.id]);
  messaging.parts.clock.advance(15 * 86_400_000);
  assert.equal(await reasons(), 'payload_expired');
  const one = await delivery.retry();
  assert.deepEqual([one.status, one.body.error_code], [409, 'CONFLICT']);
  const unknown = await delivery.retry(999_999_999);
  assert.deepEqual([unknown.status, unknown.body.error_code], [404, 'NOT_FOUND']);
  const notMine = await delivery.retry(delivery.logId, company.apiKey);
  assert.deepEqual([notMine.status, notMine.body.error_code], [404, 'WEBHOOK_NOT_FOUND']);
  const tooMany = await delivery.bulk(Array.from({ length: 501 }, (_, index) => index + 1));
  assert.equal(tooMany.status, 400);
  const none = await delivery.bulk([]);
  assert.equal(none.status, 400);
});
