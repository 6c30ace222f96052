import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { disableGoneWebhook } from '@posthorn/worker/webhooks/record-attempts.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { emitEvents, logsOf, seedWebhook, startDispatcher, startReceiver } from './support.ts';

let messaging: TestMessaging;
let company: SeededCompany;
before(async () => {
  messaging = await startTestMessaging({ ALLOW_PRIVATE_WEBHOOKS: 'true' });
  company = await seedCompany(messaging.parts.db);
});
after(() => messaging.close());

const call = (method: string, path: string, body: object) =>
  messaging.call(method, path, { key: company.apiKey, body });

async function versionOf(webhookId: number): Promise<string> {
  const { rows } = await messaging.parts.db.query<{ version: string }>(
    'SELECT xmin::text AS version FROM webhooks WHERE id = $1',
    [webhookId],
  );
  return rows[0]!.version;
}

/** Waits until this many statements wait for a lock of another transaction. */
async function waitForLocks(count: number): Promise<void> {
  await waitFor(async () => {
    const { rowCount } = await messaging.parts.db.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount === count;
  });
}

test('a webhook for an instance that is just being deleted is refused as one for an unknown instance', async () => {
  const { db } = messaging.parts;
  const instance_id = await seedInstance(db, company.companyId);
  const { id } = await seedWebhook(db, company.companyId, 'http://127.0.0.1:1/');
  const { asked } = await db.transaction(async (sql) => {
    await sql.query('DELETE FROM instances WHERE id = $1', [instance_id]);
    const requests = [
      call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:1/', instance_id }),
      call('PATCH', `/v1/webhooks/${id}`, { instance_id }),
    ];
    await waitForLocks(requests.length);
    return { asked: requests };
  });
  for (const answer of await Promise.all(asked))
    assert.deepEqual([answer.status, answer.body.error_code], [404, 'INSTANCE_NOT_FOUND']);
});

test('a webhook that is enabled with a new address while its old one answers 410 stays enabled, as answered', async () => {
  const { db } = messaging.parts;
  const old = 'http://127.0.0.1:1/old';
  const { id: webhookId } = await seedWebhook(db, company.companyId, old);
  const { moving } = await db.transaction(async (sql) => {
    const webhookVersion = await versionOf(webhookId);
    await disableGoneWebhook(sql, { webhookId, webhookVersion, webhookUrl: old, at: new Date() });
    const request = call('PATCH', `/v1/webhooks/${webhookId}`, {
      url: 'http://127.0.0.1:1/new',
      enabled: true,
    });
    await waitForLocks(1);
    return { moving: request };
  });
  const { body } = await moving;
  const { body: stored } = await messaging.call('GET', `/v1/webhooks/${webhookId}`, { key: company.apiKey });
  assert.deepEqual(stored, body);
  assert.deepEqual([stored.enabled, stored.disabled_reason], [true, null]);
});

test('an attempt that began before its webhook was enabled again does not disable it by a late 410', async (t) => {
  const { parts } = messaging;
  const own = await seedCompany(parts.db);
  const patch = (body: object) =>
    messaging.call('PATCH', `/v1/webhooks/${webhook.id}`, { key: own.apiKey, body });
  const receiver = await startReceiver(async (_req, res) => {
    if (receiver.requests > 1) return void res.end('ok');
    await patch({ enabled: false });
    await patch({ enabled: true });
    res.writeHead(410).end('gone');
  });
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, own.companyId, receiver.url);
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  await emitEvents(parts, own.companyId, 1);
  // The event goes out once more, to the webhook as its owner left it.
  await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === 2);
  const logs = await logsOf(parts.db, webhook.id);
  assert.deepEqual(
    logs.map(({ attempt, status_code }) => [attempt, status_code]),
    [
      [1, 410],
      [2, 200],
    ],
  );
  const { body } = await messaging.call('GET', `/v1/webhooks/${webhook.id}`, { key: own.apiKey });
  assert.deepEqual([body.enabled, body.disabled_reason], [true, null]);
});

test('a 410 that waits for a change of its webhook finds it changed', async () => {
  const { db } = messaging.parts;
  const webhookUrl = 'http://127.0.0.1:1/';
  const { id: webhookId } = await seedWebhook(db, company.companyId, webhookUrl);
  const webhookVersion = await versionOf(webhookId);
  const { disabling } = await db.transaction(async (sql) => {
    await sql.query('UPDATE webhooks SET updated_at = now() WHERE id = $1', [webhookId]);
    const waits = disableGoneWebhook(db, { webhookId, webhookVersion, webhookUrl, at: new Date() });
    await waitForLocks(1);
    return { disabling: waits };
  });
  assert.deepEqual(await disabling, { hasChanged: true });
  const { rows } = await db.query('SELECT enabled FROM webhooks WHERE id = $1', [webhookId]);
  assert.deepEqual(rows, [{ enabled: true }]);
});

for (const [state, furtherMs] of [
  ['open', 0],
  ['probing', 200_000],
] as const) {
  test(`a webhook whose endpoint hung for long is tried at once when its owner changes it (${state})`, async (t) => {
    const { parts } = messaging;
    const owner = await seedCompany(parts.db);
    const hanging = await startReceiver(() => undefined);
    const fine = await startReceiver();
    const webhook = await seedWebhook(parts.db, owner.companyId, hanging.url);
    const dispatcher = await startDispatcher(parts, { timeoutMs: 2_000 });
    t.after(() => Promise.all([dispatcher.close(), hanging.close(), fine.close()]));
    const timeouts = (count: number) =>
      waitFor(async () => (await logsOf(parts.db, webhook.id)).length >= count, 60_000);
    await emitEvents(parts, owner.companyId, 1);
    await timeouts(1);
    // It has been away for so long that its breaker stays open for 100 s.
    const realNow = performance.now.bind(performance);
    let ahead = 2_000_000;
    t.mock.method(performance, 'now', () => realNow() + ahead);
    await emitEvents(parts, owner.companyId, 8);
    await timeouts(5);
    await waitFor(() => dispatcher.load().held === 0);
    ahead += furtherMs;
    if (state === 'probing') await waitFor(() => dispatcher.load().inFlight === 1);
    const path = `/v1/webhooks/${webhook.id}`;
    const answer = await messaging.call('PATCH', path, { key: owner.apiKey, body: { url: fine.url } });
    assert.equal(answer.status, 200, answer.text);
    const [event] = await emitEvents(parts, owner.companyId, 1);
    const isThere = () => fine.received.some(({ headers }) => headers['webhook-id'] === event!.eventId);
    await waitFor(isThere, 45_000, { what: 'the new address gets the event' });
  });
}
