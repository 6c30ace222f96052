import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { InstanceSettings } from '@posthorn/core/instances/settings.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** A person would type it for four minutes at least. */
const LONG = 'x'.repeat(2_500);

describe('a setting of an instance takes effect', () => {
  let sending: Sending;
  before(async () => {
    sending = await startSending();
  });
  after(() => sending.close());

  const change = async (instance: TestInstance, settings: Partial<InstanceSettings>) => {
    const answer = await sending.call(instance, 'PATCH', '/settings', settings);
    assert.equal(answer.status, 200, answer.text);
  };
  const writes = (from: string, instance: TestInstance, body: Record<string, unknown>) =>
    sending.sandbox.post(`/phones/${from}/messages`, { to: instance.phone, ...body });
  const arrived = (instance: TestInstance, text: string) =>
    sending.event(instance, 'message.received', (data) => data.content.text === text);
  const ledgerOf = async (instance: TestInstance) =>
    (await sending.sandbox.get(`/ledger?from=${instance.phone}&limit=1000`)).entries;
  const phoneOf = (phone: string) => sending.sandbox.get(`/phones/${phone}`);

  test('auto_read: messages after the change are read at the sender, and none from before', async () => {
    const instance = await sending.connect();
    const from = sending.newPhone();
    await writes(from, instance, { text: 'before' });
    await arrived(instance, 'before');
    await change(instance, { auto_read: true });
    await writes(from, instance, { text: 'after' });
    await arrived(instance, 'after');
    const shown = await waitFor(async () => {
      const messages = await sending.shown(from);
      return messages.find(({ text }) => text === 'after').status === 'read' && messages;
    });
    // The two were acknowledged in order.
    assert.equal(shown.find(({ text }) => text === 'before').status, 'delivered');
    await change(instance, { auto_read: false });
    await writes(from, instance, { text: 'off again' });
    await arrived(instance, 'off again');
    // The event comes before the network learns that the message is recorded.
    const last = await waitFor(async () => {
      const message = (await sending.shown(from)).at(-1);
      return message.status !== 'sent' && message;
    });
    assert.equal(last.status, 'delivered');
  });

  test('ignore_groups: groups cause no events once the setting is answered', async () => {
    const instance = await sending.connect();
    const from = sending.newPhone();
    const { jid } = await sending.sandbox.post('/groups', {
      name: 'Team',
      participants: [from, instance.phone],
    });
    await sending.sandbox.post(`/phones/${from}/messages`, { to: jid, text: 'heard' });
    await arrived(instance, 'heard');
    await change(instance, { ignore_groups: true });
    await sending.sandbox.post(`/phones/${from}/messages`, { to: jid, text: 'ignored' });
    await writes(from, instance, { text: 'direct' });
    await arrived(instance, 'direct');
    const { rows } = await sending.api.parts.db.query<{ text: string }>(
      `SELECT content->>'text' AS text FROM messages WHERE instance_id = $1 AND direction = 'inbound' ORDER BY created_at`,
      [instance.id],
    );
    assert.deepEqual(rows.map(({ text }) => text).sort(), ['direct', 'heard']);
  });

  test('store_media: without it received media has no media_id', async () => {
    const instance = await sending.connect();
    const from = sending.newPhone();
    const picture = (caption: string) =>
      writes(from, instance, {
        type: 'image',
        caption,
        media_base64: PIXEL,
        mime_type: 'image/png',
      });
    const received = (caption: string) =>
      sending.event(instance, 'message.received', (data) => data.content.caption === caption);
    await picture('kept');
    assert.ok((await received('kept')).data.media_id);
    await change(instance, { store_media: false });
    await picture('not kept');
    assert.equal((await received('not kept')).data.media_id, undefined);
  });

  test('humanize: a one-to-one text is typed first; groups and media go at once', async () => {
    const instance = await sending.connect({ humanize_enabled: true });
    const to = sending.newPhone();
    const { jid } = await sending.sandbox.post('/groups', {
      name: 'Team',
      participants: [to, instance.phone],
    });
    await sending.send(instance, '/messages/text', { to: jid, text: LONG });
    await sending.send(instance, '/messages/image', {
      to,
      media_base64: PIXEL,
      caption: LONG.slice(0, 1_000),
    });
    await waitFor(async () => (await ledgerOf(instance)).length === 2);
    assert.deepEqual((await phoneOf(to)).typing, []);
    const acceptedAtMs = Date.now();
    // Long enough to be seen while it is typed.
    const text = 'typed for a while';
    await sending.send(instance, '/messages/text', { to, text });
    const typing = await waitFor(async () => (await phoneOf(to)).typing[0]);
    assert.equal(typing.from, instance.jid);
    const entry = await waitFor(async () => (await ledgerOf(instance))[2]);
    assert.ok(Date.parse(entry.time) - acceptedAtMs >= 100 * text.length);
  });

  test('humanize: each send follows the setting that was answered before it, for thirty changes in a row', async () => {
    const instance = await sending.connect();
    const to = sending.newPhone();
    for (let round = 0; round < 30; round++) {
      const humanized = round % 2 === 0;
      await change(instance, { humanize_enabled: humanized });
      const acceptedAtMs = Date.now();
      await sending.send(instance, '/messages/text', { to, text: humanized ? 'a' : LONG });
      const entry = await waitFor(async () => (await ledgerOf(instance))[round]);
      if (humanized) assert.ok(Date.parse(entry.time) - acceptedAtMs >= 98, `round ${round}`);
    }
  });

  test('reject_calls: a call causes one event, and is refused only when the setting says so', async () => {
    const instance = await sending.connect();
    const from = sending.newPhone();
    const call = async (video: boolean) =>
      (await sending.sandbox.post(`/phones/${from}/calls`, { to: instance.phone, video })).id;
    const told = (id: string) => sending.event(instance, 'call.received', (data) => data.call_id === id);
    const stateOf = async (id: string) =>
      (await sending.sandbox.get(`/phones/${from}/calls`)).calls.find(
        (each: { id: string }) => each.id === id,
      ).state;

    const heard = await call(false);
    const { timestamp, ...data } = (await told(heard)).data;
    assert.ok(Date.parse(timestamp) > 0);
    assert.deepEqual(data, {
      call_id: heard,
      phone: from,
      from: `${from}@s.whatsapp.net`,
      group_jid: null,
      is_video: false,
      rejected: false,
    });
    assert.equal(await stateOf(heard), 'ringing');

    await change(instance, { reject_calls: true });
    const refused = await call(true);
    const event = await told(refused);
    assert.equal(event.data.rejected, true);
    assert.equal(event.data.is_video, true);
    assert.equal(await stateOf(refused), 'refused');

    await change(instance, { reject_calls: false });
    const again = await call(false);
    assert.equal((await told(again)).data.rejected, false);
    assert.equal(await stateOf(again), 'ringing');
    const { rows } = await sending.api.parts.db.query(
      `SELECT 1 FROM events WHERE instance_id = $1 AND type = 'call.received'`,
      [instance.id],
    );
    assert.equal(rows.length, 3);
  });

  test('reject_calls: a call that the network reports twice is one event, and one that rang long ago is not refused', async () => {
    const instance = await sending.connect({ reject_calls: true });
    const from = `${sending.newPhone()}@s.whatsapp.net`;
    const raw = (callId: string, at: number) =>
      sending.sandbox.post('/events', {
        account: instance.phone,
        event: { k: 'fact', at, fact: { kind: 'call', callId, from, video: false, group: null } },
      });
    const now = Date.now();
    await raw('CALL1', now);
    await raw('CALL1', now);
    await raw('CALL2', now - 600_000);
    const old = await sending.event(instance, 'call.received', (data) => data.call_id === 'CALL2');
    assert.equal(old.data.rejected, false);
    assert.equal(old.data.timestamp, new Date(now - 600_000).toISOString());
    const { rows } = await sending.api.parts.db.query(
      `SELECT 1 FROM events WHERE instance_id = $1 AND type = 'call.received'`,
      [instance.id],
    );
    assert.equal(rows.length, 2);
  });

  test('always_online: the account is shown as online while it is set, and again after a reconnect', async () => {
    const instance = await sending.connect();
    const isShown = async (presence: 'available' | 'unavailable' | null) =>
      waitFor(async () => (await phoneOf(instance.phone)).presence === presence);
    await isShown(null);
    await change(instance, { always_online: true });
    await isShown('available');
    const logins = async (): Promise<number> =>
      (await sending.sandbox.get('/sessions')).accounts.find(
        ({ phone }: { phone: string }) => phone === instance.phone,
      ).logins;
    const before = await logins();
    const answer = await sending.call(instance, 'POST', '/restart');
    assert.equal(answer.status, 202, answer.text);
    // Until then the former session shows it.
    await waitFor(async () => (await logins()) > before);
    await isShown('available');
    await change(instance, { always_online: false });
    await isShown('unavailable');
  });
});
