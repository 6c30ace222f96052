import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { webhookNotification } from '@posthorn/core/webhooks/notifications.ts';
import { Webhook } from 'standardwebhooks';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import {
  emitEvents,
  logsOf,
  pendingOf,
  type Received,
  seedWebhook,
  startDispatcher,
  startReceiver,
} from './support.ts';

let messaging: TestMessaging;
let company: SeededCompany;

before(async () => {
  messaging = await startTestMessaging({ ALLOW_PRIVATE_WEBHOOKS: 'true' });
  company = await seedCompany(messaging.parts.db);
});
after(() => messaging.close());

function verifies(secret: string, received: Received, headers: Record<string, string> = {}): boolean {
  try {
    new Webhook(secret).verify(received.body, {
      'webhook-id': String(received.headers['webhook-id']),
      'webhook-timestamp': String(received.headers['webhook-timestamp']),
      'webhook-signature': String(received.headers['webhook-signature']),
      ...headers,
    });
    return true;
  } catch {
    return false;
  }
}

test('the official library verifies all of 5,000 deliveries through a secret rotation in their middle', async () => {
  const { parts } = messaging;
  const receiver = await startReceiver();
  const webhook = await seedWebhook(parts.db, company.companyId, `${receiver.url}/hook?x=1`);
  const dispatcher = await startDispatcher(parts);
  await emitEvents(parts, company.companyId, 2_500);
  await waitFor(() => receiver.requests > 1_000);
  const rotated = await messaging.call('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, {
    key: company.apiKey,
  });
  assert.equal(rotated.status, 200);
  const atRotation = receiver.received.length;
  await emitEvents(parts, company.companyId, 2_500);
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0, 120_000);
  assert.equal(receiver.received.length, 5_000);
  assert.equal(new Set(receiver.received.map((request) => request.headers['webhook-id'])).size, 5_000);
  const oldSecret = webhook.secret;
  const newSecret: string = rotated.body.secret;
  assert.match(newSecret, /^whsec_/);
  assert.notEqual(newSecret, oldSecret);
  // A receiver with the old secret loses nothing, before, during and after.
  assert.ok(receiver.received.every((request) => verifies(oldSecret, request)));
  // A receiver that has changed over verifies everything that was claimed after the rotation.
  const lastSingle = receiver.received.findLastIndex(
    (request) => !String(request.headers['webhook-signature']).includes(' '),
  );
  assert.ok(receiver.received.slice(lastSingle + 1).every((request) => verifies(newSecret, request)));
  assert.ok(
    lastSingle < atRotation + 600,
    `what was claimed before is soon through: ${lastSingle - atRotation}`,
  );
  assert.ok(receiver.received.length - lastSingle > 1_500);

  const sample = receiver.received.at(-1)!;
  assert.equal(sample.path, '/hook?x=1');
  const altered = sample.body.replace('message.delivered', 'message.deliverec');
  assert.equal(verifies(newSecret, { ...sample, body: altered }), false, 'a body changed by one byte');
  const signedAtS = Number(sample.headers['webhook-timestamp']);
  for (const [offS, holds] of [
    [299, true],
    [301, false],
    [-301, false],
  ] as const) {
    const now = Date.now;
    Date.now = () => (signedAtS + offS) * 1000;
    try {
      assert.equal(verifies(newSecret, sample), holds, `read ${offS} s after it was signed`);
    } finally {
      Date.now = now;
    }
  }
  const { event_id: eventId, ...envelope } = JSON.parse(sample.body);
  assert.equal(eventId, sample.headers['webhook-id']);
  assert.deepEqual(Object.keys(envelope), ['type', 'created_at', 'company_id', 'instance_id', 'data']);
  await dispatcher.close();

  // The grace period is over: the old secret no longer signs.
  await parts.db.query('UPDATE webhooks SET previous_secret_expires_at = now() WHERE id = $1', [webhook.id]);
  const later = await startDispatcher(parts);
  await emitEvents(parts, company.companyId, 1);
  await waitFor(() => receiver.received.length === 5_001);
  assert.equal(verifies(oldSecret, receiver.received.at(-1)!), false);
  assert.equal(verifies(newSecret, receiver.received.at(-1)!), true);
  await later.close();
  await receiver.close();
  assert.equal(
    (await logsOf(parts.db, webhook.id)).filter((log) => log.success && log.attempt === 1).length,
    5_001,
  );
});

test('deliveries claimed before a rotation and sent after it have both signatures', async (t) => {
  const { parts } = messaging;
  const other = await seedCompany(parts.db);
  const ready = Promise.withResolvers<void>();
  let answered: Promise<void> | null = null;
  const receiver = await startReceiver((_req, res) => void Promise.resolve(answered).then(() => res.end()));
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, other.companyId, receiver.url);
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  // For an endpoint that answers fast, more deliveries are held than may be under way.
  await emitEvents(parts, other.companyId, 100);
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0);
  answered = ready.promise;
  await emitEvents(parts, other.companyId, 400);
  await waitFor(() => dispatcher.load().held > 2 * dispatcher.load().inFlight);
  await waitFor(() => receiver.requests === 100 + dispatcher.load().inFlight);
  const heard = Promise.withResolvers<void>();
  // The dispatcher's own handler was added before, so it runs before this one.
  parts.bus.on('deliveries', (payload) => {
    if (payload === webhookNotification(webhook.id)) heard.resolve();
  });
  const rotated = await messaging.call('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, {
    key: other.apiKey,
  });
  await heard.promise;
  const begun = receiver.requests;
  ready.resolve();
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0, 60_000);
  const later = receiver.received.slice(begun);
  assert.equal(later.length, 500 - begun);
  for (const secret of [webhook.secret, rotated.body.secret])
    assert.equal(later.filter((request) => !verifies(secret, request)).length, 0);
});

test('custom headers go along, and an endpoint that answers 410 is disabled and gets nothing more', async () => {
  const { parts } = messaging;
  const other = await seedCompany(parts.db);
  const receiver = await startReceiver((_req, res) => res.writeHead(410).end('gone'));
  const webhook = await seedWebhook(parts.db, other.companyId, receiver.url, {
    headers: { 'X-Team': 'blue' },
  });
  const dispatcher = await startDispatcher(parts);
  await emitEvents(parts, other.companyId, 1);
  const shown = await waitFor(async () => {
    const answer = await messaging.call('GET', `/v1/webhooks/${webhook.id}`, { key: other.apiKey });
    return answer.body.enabled === false && answer.body;
  });
  assert.equal(shown.disabled_reason, 'gone');
  assert.equal(receiver.received[0]!.headers['x-team'], 'blue');
  await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === 1);
  await emitEvents(parts, other.companyId, 3);
  const refused = await messaging.call('POST', `/v1/webhooks/${webhook.id}/test`, { key: other.apiKey });
  assert.equal(refused.status, 409);
  await dispatcher.close();
  assert.equal(receiver.requests, 1);
  await receiver.close();
});

test('a 410 that comes while the database is away disables the webhook when it is back', async (t) => {
  const { parts } = messaging;
  const other = await seedCompany(parts.db);
  const receiver = await startReceiver((_req, res) => res.writeHead(410).end('gone'));
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, other.companyId, receiver.url);
  let tries = 0;
  const db = {
    ...parts.db,
    query: async (query: unknown, values?: unknown[]) => {
      if (String(query).includes('SET enabled = false')) tries += 1;
      if (tries === 1 || tries === 2)
        throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      return parts.db.query(query as never, values);
    },
  } as typeof parts.db;
  const dispatcher = await startDispatcher(parts, { db });
  t.after(dispatcher.close);
  await emitEvents(parts, other.companyId, 1);
  await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === 1);
  const { body } = await messaging.call('GET', `/v1/webhooks/${webhook.id}`, { key: other.apiKey });
  assert.deepEqual([tries, body.enabled, body.disabled_reason], [3, false, 'gone']);
});

test('a 410 of an endpoint that its webhook has left meanwhile does not disable it', async () => {
  const { parts } = messaging;
  const other = await seedCompany(parts.db);
  const receiver = await startReceiver((_req, res) => {
    void parts.db
      .query('UPDATE webhooks SET url = $2 WHERE id = $1', [webhook.id, 'https://moved.example/'])
      .then(() => res.writeHead(410).end('gone'));
  });
  const webhook = await seedWebhook(parts.db, other.companyId, receiver.url);
  const dispatcher = await startDispatcher(parts);
  await emitEvents(parts, other.companyId, 1);
  const [log] = await waitFor(async () => {
    const logs = await logsOf(parts.db, webhook.id);
    return logs.length > 0 && logs;
  });
  assert.equal(log!.status_code, 410);
  await dispatcher.close();
  const shown = await messaging.call('GET', `/v1/webhooks/${webhook.id}`, { key: other.apiKey });
  assert.deepEqual([shown.body.enabled, shown.body.disabled_reason], [true, null]);
  await receiver.close();
});

test('an event that a moved webhook was still sending to its old address, which answers 410, is not lost', async (t) => {
  const { parts } = messaging;
  const other = await seedCompany(parts.db);
  const current = await startReceiver();
  t.after(current.close);
  const old = await startReceiver((_req, res) => {
    const body = { url: current.url };
    void messaging
      .call('PATCH', `/v1/webhooks/${webhook.id}`, { key: other.apiKey, body })
      .then(() => res.writeHead(410).end('gone'));
  });
  t.after(old.close);
  const webhook = await seedWebhook(parts.db, other.companyId, old.url);
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  const [event] = await emitEvents(parts, other.companyId, 1);
  await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === 2);
  assert.deepEqual(
    [...old.received, ...current.received].map(({ headers }) => headers['webhook-id']),
    [event!.eventId, event!.eventId],
  );
  assert.deepEqual(
    (await logsOf(parts.db, webhook.id)).map(({ attempt, status_code }) => [attempt, status_code]),
    [
      [1, 410],
      [2, 200],
    ],
  );
});

test('a test event reaches only that webhook, for any subscription', async () => {
  const { parts } = messaging;
  const mine = await seedCompany(parts.db);
  const receiver = await startReceiver();
  const narrow = await seedWebhook(parts.db, mine.companyId, `${receiver.url}/narrow`, {
    patterns: ['label.*'],
  });
  await seedWebhook(parts.db, mine.companyId, `${receiver.url}/wide`);
  const dispatcher = await startDispatcher(parts);
  const sent = await messaging.call('POST', `/v1/webhooks/${narrow.id}/test`, { key: mine.apiKey });
  assert.equal(sent.status, 202);
  await waitFor(async () => (await pendingOf(parts.db, narrow.id)) === 0);
  await dispatcher.close();
  assert.deepEqual(
    receiver.received.map((request) => request.path),
    ['/narrow'],
  );
  const event = JSON.parse(receiver.received[0]!.body);
  assert.equal(event.event_id, sent.body.event_id);
  assert.equal(event.type, 'webhook.test');
  assert.equal(event.data.webhook_id, narrow.id);
  await receiver.close();
});

test('a test event is refused, and leaves nothing, when its webhook is deleted at the same moment', async () => {
  const { db } = messaging.parts;
  const mine = await seedCompany(db);
  const { id } = await seedWebhook(db, mine.companyId, 'http://127.0.0.1:9/');
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const { promise: isDeleted, resolve: nowDeleted } = Promise.withResolvers<void>();
  const deleting = db.transaction(async (sql) => {
    await sql.query('DELETE FROM webhooks WHERE id = $1', [id]);
    nowDeleted();
    await mayCommit;
  });
  await isDeleted;
  const sending = messaging.call('POST', `/v1/webhooks/${id}/test`, { key: mine.apiKey });
  await waitFor(async () => {
    const { rowCount } = await db.query(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%webhook.test%'`,
    );
    return rowCount !== 0;
  });
  commit();
  await deleting;
  const sent = await sending;
  assert.deepEqual([sent.status, sent.body.error_code], [404, 'WEBHOOK_NOT_FOUND']);
  const { rowCount } = await db.query('SELECT FROM events WHERE company_id = $1', [mine.companyId]);
  assert.equal(rowCount, 0);
});

test('a webhook whose secret cannot be opened fails its own deliveries and nobody else\u2019s', async (t) => {
  const { parts } = messaging;
  const own = await seedCompany(parts.db);
  const receiver = await startReceiver();
  t.after(receiver.close);
  const broken = await seedWebhook(parts.db, own.companyId, receiver.url);
  await parts.db.query(`UPDATE webhooks SET secret = '\\x00' WHERE id = $1`, [broken.id]);
  const good = await seedWebhook(parts.db, own.companyId, receiver.url);
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  await emitEvents(parts, own.companyId, 3);
  await waitFor(async () => (await pendingOf(parts.db, good.id)) === 0);
  const logs = await waitFor(async () => {
    const found = await logsOf(parts.db, broken.id);
    return found.length >= 3 && found;
  });
  assert.equal(receiver.requests, 3);
  assert.ok(logs.every((log) => !log.success && /cannot be read/.test(log.response)));
  // A rotation of its secret repairs it.
  const rotated = await messaging.call('POST', `/v1/webhooks/${broken.id}/rotate-secret`, {
    key: own.apiKey,
  });
  assert.equal(rotated.status, 200);
  const sent = await messaging.call('POST', `/v1/webhooks/${broken.id}/test`, { key: own.apiKey });
  // The retries of failed deliveries now succeed too, and may come first.
  const tested = await waitFor(() =>
    receiver.received.find(({ headers }) => headers['webhook-id'] === sent.body.event_id),
  );
  assert.ok(verifies(rotated.body.secret, tested));
});
