import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
before(async () => {
  pipeline = await startSending({ sandbox: { autoPair: false } });
});
after(() => pipeline.close());

const stateOf = async (instance: TestInstance) =>
  (await pipeline.call(instance, 'GET', '/connection')).body.state;

/** Pairs an instance with this phone, like a user who scans its QR. */
async function pairWith(phone: string, id: string): Promise<TestInstance> {
  const { db } = pipeline.api.parts;
  const qr = await waitFor(async () => {
    const { rows } = await db.query<{ qr: string | null }>(
      'SELECT qr FROM instance_pairings WHERE instance_id = $1',
      [id],
    );
    return rows[0]?.qr;
  });
  await pipeline.sandbox.post('/pair', { qr, phone });
  const instance = { id, phone, jid: `${phone}@s.whatsapp.net` };
  await waitFor(async () => (await stateOf(instance)) === 'CONNECTED');
  return instance;
}

/** An instance that is paired with a fresh phone. */
async function pairNew(): Promise<TestInstance> {
  const { db, bus } = pipeline.api.parts;
  const id = await seedInstance(db, pipeline.company.companyId, {
    state: 'CREATED',
    wanted: 'connected',
    settings: { humanize_enabled: false, anti_spam_guard_enabled: false },
  });
  bus.notify('instance', id);
  return pairWith(pipeline.newPhone(), id);
}

/** An instance that was logged out while two accepted texts waited, and pairs again. */
async function loggedOutWithQueue() {
  const instance = await pairNew();
  const to = pipeline.newPhone();
  await pipeline.sandbox.post('/faults', { kind: 'offline', instance: instance.id });
  const texts: string[] = [];
  // Within the grace period the instance still counts as connected.
  for (const text of ['first', 'second'])
    texts.push((await pipeline.send(instance, '/messages/text', { to, text })).message_id);
  await pipeline.call(instance, 'POST', '/logout');
  await waitFor(async () => (await stateOf(instance)) === 'DISCONNECTED');
  await pipeline.sandbox.call('DELETE', '/faults');
  await pipeline.call(instance, 'POST', '/connect');
  return { instance, to, texts };
}

/** The events about a message, once there are any. */
function toldOf(messageId: string) {
  return waitFor(async () => {
    const events = await pipeline.eventsOf(messageId);
    return events.length > 0 && events;
  });
}

describe('sends that wait while their instance is logged out', () => {
  test('go out when the same account is paired again', async () => {
    const { instance, to } = await loggedOutWithQueue();
    await pairWith(instance.phone, instance.id);
    const shown = await waitFor(async () => {
      const messages = await pipeline.shown(to);
      return messages.length === 2 && messages;
    });
    assert.deepEqual(
      shown.map(({ text, from }) => [text, from]),
      [
        ['first', instance.jid],
        ['second', instance.jid],
      ],
    );
  });

  test('fail with account_changed when another account is paired, and later ones go out from it', async () => {
    const { instance, to, texts } = await loggedOutWithQueue();
    const other = await pairWith(pipeline.newPhone(), instance.id);
    for (const id of texts) {
      const [failed, ...more] = await toldOf(id);
      assert.deepEqual(
        [failed!.type, failed!.data.reason, failed!.data.wire_state, more],
        ['text.delivery_failed', 'account_changed', 'not_sent', []],
      );
    }
    assert.deepEqual((await pipeline.call(other, 'GET', '/queue/count')).body, { count: 0 });
    await pipeline.send(other, '/messages/text', { to, text: 'third' });
    const shown = await waitFor(async () => {
      const messages = await pipeline.shown(to);
      return messages.length > 0 && messages;
    });
    assert.deepEqual(
      shown.map(({ text, from }) => [text, from]),
      [['third', other.jid]],
    );
  });

  test('fail with outcome_unknown when another account is paired and the answer of the former network was lost', async () => {
    const instance = await pairNew();
    const to = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone: to, online: false });
    const fault = { kind: 'silence', instance: instance.id, at: 'after_ledger', times: 1 };
    await pipeline.sandbox.post('/faults', fault);
    const { message_id: id } = await pipeline.send(instance, '/messages/text', { to, text: 'once' });
    await waitFor(async () => (await pipeline.sandbox.get(`/ledger?to=${to}`)).total === 1);
    await pipeline.sandbox.post('/faults', { kind: 'offline', instance: instance.id });
    await pipeline.call(instance, 'POST', '/logout');
    await waitFor(async () => (await stateOf(instance)) === 'DISCONNECTED');
    await pipeline.sandbox.call('DELETE', '/faults');
    await pipeline.call(instance, 'POST', '/connect');
    await pairWith(pipeline.newPhone(), instance.id);
    const [failed] = await toldOf(id);
    assert.deepEqual([failed?.data.reason, failed?.data.wire_state], ['outcome_unknown', 'unknown']);
    assert.equal(
      (await pipeline.sandbox.get(`/ledger?to=${to}`)).total,
      1,
      'and goes out from no other number',
    );
  });
});

/** Fewer than a company may have open while a busy machine refuses more. */
const AT_ONCE = 50;

/** Accepted for a connected instance, and behind a text that is typed for minutes. */
async function waitingIn(instance: TestInstance, count: number): Promise<string[]> {
  await pipeline.call(instance, 'PATCH', '/settings', { humanize_enabled: true });
  const to = pipeline.newPhone();
  const send = async (text: string) =>
    (await pipeline.send(instance, '/messages/text', { to, text })).message_id;
  const ids: string[] = [await send('word '.repeat(800))];
  while (ids.length < count) {
    const sends = Array.from({ length: Math.min(AT_ONCE, count - ids.length) }, (_, nth) =>
      send(`text ${ids.length + nth}`),
    );
    ids.push(...(await Promise.all(sends)));
  }
  return ids;
}

test('what waits in an instance that is deleted fails with instance_deleted, each told once', async () => {
  const instance = await pairNew();
  const to = pipeline.newPhone();
  const { message_id: sent } = await pipeline.send(instance, '/messages/text', { to, text: 'sent' });
  await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === sent);
  const waiting = await waitingIn(instance, 520);
  await pipeline.call(instance, 'PUT', `/messages/${sent}/edit`, { content: 'edited' });
  assert.equal((await pipeline.call(instance, 'DELETE', '')).status, 204);
  const { rows } = await pipeline.api.parts.db.query<{
    id: string;
    type: string;
    data: object;
    more: number;
  }>(
    `SELECT data->'message_ids'->>0 AS id, type, data->>'reason' AS reason, data->>'wire_state' AS wire, data->>'operation' AS operation
     FROM events WHERE instance_id = $1 AND type LIKE '%.delivery_failed' ORDER BY tx, id`,
    [instance.id],
  );
  const failed = { type: 'text.delivery_failed', reason: 'instance_deleted', wire: 'not_sent' };
  assert.deepEqual(
    new Map(rows.map(({ id, ...event }) => [id, event])),
    new Map<string, object>([
      ...waiting.map((id) => [id, { ...failed, operation: null }] as const),
      [sent, { ...failed, operation: 'edit' }] as const,
    ]),
  );
  assert.equal(rows.length, waiting.length + 1);
});
