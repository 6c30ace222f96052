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

/** An instance that was logged out while two accepted texts waited, and pairs again. */
async function loggedOutWithQueue() {
  const { db, bus } = pipeline.api.parts;
  const id = await seedInstance(db, pipeline.company.companyId, {
    state: 'CREATED',
    wanted: 'connected',
    settings: { humanize_enabled: false, anti_spam_guard_enabled: false },
  });
  bus.notify('instance', id);
  const instance = await pairWith(pipeline.newPhone(), id);
  const to = pipeline.newPhone();
  await pipeline.sandbox.post('/faults', { kind: 'offline', instance: id });
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
      const [failed, ...more] = await pipeline.eventsOf(id);
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
});
