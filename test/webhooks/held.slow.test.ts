import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import {
  emitEvents,
  logsOf,
  pendingOf,
  seedWebhook,
  startDispatcher,
  startReceiver,
  type TestDispatcher,
} from './support.ts';

let messaging: TestMessaging;
before(async () => {
  messaging = await startTestMessaging({ ALLOW_PRIVATE_WEBHOOKS: 'true' });
});
after(() => messaging.close());

/** Waits until the dispatcher holds nothing but attempts under way. */
function areGivenBack(dispatcher: TestDispatcher): Promise<unknown> {
  return waitFor(() => dispatcher.load().held === dispatcher.load().inFlight);
}

test('deliveries held for an endpoint are given back when it answers 410 or is disabled, and are not lost', async (t) => {
  const { parts } = messaging;
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  const WARM_UP = 100;
  const BACKLOG = 400;
  /** The most attempts under way at once; four times as many deliveries are held for an endpoint that answers fast. */
  const IN_FLIGHT = 64;
  for (const how of ['disabled', 'gone'] as const) {
    const other = await seedCompany(parts.db);
    let answer: { status: number; wait(): Promise<unknown> } = { status: 200, wait: async () => undefined };
    const receiver = await startReceiver((_req, res) => {
      const { status, wait } = answer;
      void wait().then(() => res.writeHead(status).end());
    });
    t.after(receiver.close);
    const webhook = await seedWebhook(parts.db, other.companyId, receiver.url);
    const patch = (body: object) =>
      messaging.call('PATCH', `/v1/webhooks/${webhook.id}`, { key: other.apiKey, body });
    const sent = () => receiver.requests - WARM_UP;
    await emitEvents(parts, other.companyId, WARM_UP);
    await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === WARM_UP);
    // Attempts are answered once as many as allowed are under way, or once the webhook is disabled, however long that
    // takes.
    const ready = Promise.withResolvers<void>();
    answer = { status: how === 'gone' ? 410 : 200, wait: () => ready.promise };
    await emitEvents(parts, other.companyId, BACKLOG);
    await waitFor(() => sent() >= (how === 'gone' ? IN_FLIGHT : 1));
    if (how === 'disabled') {
      await patch({ enabled: false });
      await areGivenBack(dispatcher);
    }
    ready.resolve();
    await delay(1_500);
    // Attempts under way are still answered and recorded.
    await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === BACKLOG - sent(), undefined, {
      what: `${how}: those that were not sent wait`,
    });
    const reached = sent();
    assert.ok(reached <= 1.5 * IN_FLIGHT, `${how}: ${reached} of ${BACKLOG} were sent`);
    answer = { status: 200, wait: async () => undefined };
    await patch({ enabled: true });
    await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0, 60_000);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    assert.equal(new Set(ids).size, WARM_UP + BACKLOG, how);
    assert.equal(ids.length, WARM_UP + BACKLOG, `${how}: each once`);
  }
});

test('deliveries held for the webhook of an instance are not sent once the instance is deleted', async (t) => {
  const { parts } = messaging;
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  const { companyId, apiKey } = await seedCompany(parts.db);
  const instanceId = await seedInstance(parts.db, companyId);
  const ready = Promise.withResolvers<void>();
  let answered: Promise<void> | null = null;
  const receiver = await startReceiver((_req, res) => void Promise.resolve(answered).then(() => res.end()));
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, companyId, receiver.url, { instanceId });
  await emitEvents(parts, companyId, 100, { instanceId });
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0);
  answered = ready.promise;
  await emitEvents(parts, companyId, 400, { instanceId });
  await waitFor(() => dispatcher.load().held > 2 * dispatcher.load().inFlight);
  await messaging.call('DELETE', `/v1/instances/${instanceId}`, { key: apiKey });
  await areGivenBack(dispatcher);
  await waitFor(() => receiver.requests === 100 + dispatcher.load().inFlight);
  const begun = receiver.requests;
  ready.resolve();
  await waitFor(async () => dispatcher.load().held === 0 && (await pendingOf(parts.db, webhook.id)) === 0);
  assert.equal(receiver.requests, begun);
});

test('deliveries held for a webhook that was disabled while the bus was away go back once it is there again', async (t) => {
  const { parts } = messaging;
  let reset = (_up: boolean) => {};
  const bus: Bus = {
    ...parts.bus,
    on: () => undefined,
    onReset(listener) {
      reset = listener;
    },
  };
  const dispatcher = await startDispatcher(parts, { bus });
  t.after(dispatcher.close);
  const { companyId, apiKey } = await seedCompany(parts.db);
  const ready = Promise.withResolvers<void>();
  let answered: Promise<void> | null = null;
  const receiver = await startReceiver((_req, res) => void Promise.resolve(answered).then(() => res.end()));
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, companyId, receiver.url);
  await emitEvents(parts, companyId, 100);
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0);
  answered = ready.promise;
  await emitEvents(parts, companyId, 400);
  await waitFor(() => dispatcher.load().held > 2 * dispatcher.load().inFlight);
  const body = { enabled: false };
  await messaging.call('PATCH', `/v1/webhooks/${webhook.id}`, { key: apiKey, body });
  reset(false);
  reset(true);
  await areGivenBack(dispatcher);
  await waitFor(() => receiver.requests === 100 + dispatcher.load().inFlight);
  const begun = receiver.requests;
  ready.resolve();
  await waitFor(() => dispatcher.load().held === 0);
  assert.equal(receiver.requests, begun);
});

test('retries beside a backlog that outlasts their lease are sent once each, and before its end', async (t) => {
  const { parts } = messaging;
  const { companyId } = await seedCompany(parts.db);
  const receiver = await startReceiver((_req, res) => setTimeout(() => res.end('ok'), 500));
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, companyId, receiver.url);
  const retried = await emitEvents(parts, companyId, 20);
  await parts.db.query(
    'UPDATE webhook_deliveries SET attempts = 1, next_attempt_at = created_at WHERE webhook_id = $1',
    [webhook.id],
  );
  const BACKLOG = 3_000;
  await emitEvents(parts, companyId, BACKLOG);
  const dispatcher = await startDispatcher(parts, { leaseMs: 16_000, timeoutMs: 8_000 });
  t.after(dispatcher.close);
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0, 120_000);
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  assert.equal(ids.length, BACKLOG + retried.length);
  assert.equal(new Set(ids).size, ids.length, 'each once');
  const lastRetry = Math.max(...retried.map(({ eventId }) => ids.indexOf(eventId)));
  assert.ok(lastRetry < BACKLOG / 2, `the last retry was sent after ${lastRetry} others`);
});
