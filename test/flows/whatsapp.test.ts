import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { openWorkerMedia } from '@posthorn/worker/media/open-worker-media.ts';
import { type RunningWorker, startWorker } from '@posthorn/worker/worker.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { ensureWhatsAppLibrary } from '../support/whatsapp/library-install.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import '../support/whatsapp/library-timers.ts';

/** The whole system: the API, a worker with two networks, and phones of the simulated WhatsApp network. */
let api: TestMessaging;
let network: WhatsAppNetwork;
let company: SeededCompany;
const workers: RunningWorker[] = [];
before(async () => {
  await ensureWhatsAppLibrary();
  network = await startWhatsAppNetwork();
  trustRoot(await loadLibrary(), network.trustedRoot);
  api = await startTestMessaging(
    { NETWORK_DRIVERS: 'sandbox,whatsapp', ALLOW_PRIVATE_PROXIES: 'true' },
    { clock: systemClock },
  );
  company = await seedCompany(api.parts.db);
  await start();
});
after(async () => {
  for (const worker of workers.splice(0)) await worker.stop();
  await network.close();
  await api.close();
});

async function start(): Promise<void> {
  const { parts, config, media } = api;
  const driver = createWhatsAppDriver({ url: network.url, ca: network.ca, log: parts.log });
  workers.push(
    await startWorker({
      ...parts,
      databaseUrl: parts.url,
      clock: systemClock,
      broker: createInProcessBroker(),
      cipher: createCipher(config.ENCRYPTION_KEY),
      driver: createSandboxDriver({ url: 'ws://127.0.0.1:9/ws' }),
      otherDrivers: [driver],
      name: `worker ${randomUUID()}`,
      media: await openWorkerMedia({ config, media, log: parts.log }),
    }),
  );
}

function call(method: string, path: string, body?: object) {
  return api.call(method, `/v1/instances${path}`, {
    key: company.apiKey,
    headers: { 'idempotency-key': randomUUID() },
    ...(body ? { body } : {}),
  });
}

/** An instance that was paired over the API by its QR code. */
async function pair(phone: ReturnType<WhatsAppNetwork['phone']>): Promise<string> {
  const created = await call('POST', '', { name: `Number ${phone.number}`, driver: 'whatsapp' });
  assert.equal(created.status, 201, created.text);
  const { id } = created.body;
  await call('PATCH', `/${id}/settings`, { humanize_enabled: false, anti_spam_guard_enabled: false });
  assert.equal((await call('POST', `/${id}/connect`)).status, 202);
  const shown = await waitFor(async () => {
    const answer = await api.call('GET', `/v1/instances/${id}/qr`, {
      key: company.apiKey,
      headers: { accept: 'application/json' },
    });
    return answer.status === 200 && answer.body;
  }, 60_000);
  phone.scan(shown.qr);
  await inState(id, 'CONNECTED');
  return id;
}

async function inState(id: string, state: string) {
  return waitFor(async () => {
    const { body } = await call('GET', `/${id}`);
    return body.state === state && body;
  }, 60_000);
}

async function event(id: string, type: string) {
  return waitFor(
    async () => {
      const { rows } = await api.parts.db.query<{ data: Record<string, unknown> }>(
        'SELECT data FROM events WHERE instance_id = $1 AND type = $2 ORDER BY tx, id',
        [id, type],
      );
      return rows[0]?.data;
    },
    60_000,
    { what: `an event ${type}` },
  );
}

const keysOf = async (id: string) =>
  (await api.parts.db.query('SELECT 1 FROM session_keys WHERE instance_id = $1', [id])).rowCount ?? 0;

test('a number is paired over the API, sends, receives, and refuses what it cannot do', async () => {
  const [own, friend] = [network.phone('5511500000001', 'Desk'), network.phone('5511500000002', 'Ada')];
  const id = await pair(own);
  const { body: instance } = await call('GET', `/${id}`);
  assert.deepEqual([instance.phone, instance.jid, instance.last_error], [own.number, own.jid, null]);

  const sent = await call('POST', `/${id}/messages/text`, { to: friend.number, text: 'Hello!' });
  assert.equal(sent.status, 202, sent.text);
  const wireId = sent.body.message_id.replaceAll('-', '').toUpperCase();
  const shown = await friend.message(wireId);
  assert.equal(shown.wire.conversation, 'Hello!');
  await event(id, 'message.sent');
  await event(id, 'message.delivered');
  friend.read([shown]);
  assert.deepEqual((await event(id, 'message.read')).message_ids, [sent.body.message_id]);

  friend.text(own, 'Hi back');
  const received = await event(id, 'message.received');
  assert.equal(received.phone, friend.number);

  const template = { to: friend.number, body_text: 'x', buttons: [{ text: 'a', id: 'a' }] };
  const refused = await call('POST', `/${id}/messages/template`, template);
  assert.deepEqual([refused.status, refused.body.error_code], [501, 'NOT_IMPLEMENTED']);
});

test('the next worker continues the sessions of the one before, without another pairing', async () => {
  const [own, friend] = [network.phone('5511500000011'), network.phone('5511500000012')];
  const id = await pair(own);
  friend.text(own, 'before');
  await event(id, 'message.received');
  await workers.splice(0)[0]!.stop();
  const waiting = friend.text(own, 'between');
  await start();
  await waitFor(async () => {
    const { rows } = await api.parts.db.query(
      'SELECT 1 FROM messages WHERE instance_id = $1 AND network_id = $2',
      [id, waiting],
    );
    return rows.length === 1;
  }, 60_000);
  const sent = await call('POST', `/${id}/messages/text`, { to: friend.number, text: 'after' });
  const shown = await friend.message(sent.body.message_id.replaceAll('-', '').toUpperCase());
  assert.equal(shown.wire.conversation, 'after');
  assert.deepEqual(friend.phone.failures, []);
  assert.equal(own.phone.devices.size, 1);
});

test('an instance that is unlinked on the phone is DISCONNECTED and forgets its keys, and so does a deleted one', async () => {
  const [own, other] = [network.phone('5511500000021'), network.phone('5511500000022')];
  const unlinked = await pair(own);
  assert.ok((await keysOf(unlinked)) > 0);
  network.control.logout(own.device);
  const instance = await inState(unlinked, 'DISCONNECTED');
  assert.equal(instance.phone, null);
  await event(unlinked, 'instance.logged_out');
  await waitFor(async () => (await keysOf(unlinked)) === 0);
  const deleted = await pair(other);
  assert.equal((await call('DELETE', `/${deleted}`)).status, 204);
  assert.equal(await keysOf(deleted), 0);
  await waitFor(() => other.phone.devices.size === 0, undefined, { what: 'the logout at the network' });
});

test('messages from before the pairing are there, announced by history.synced and by no event of a message', async () => {
  const [own, ada] = [network.phone('5511500000031'), network.phone('5511500000032', 'Ada')];
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 12, minute));
  own.remember(
    ada,
    [
      { text: 'One', fromMe: false, at: at(1) },
      { text: 'Two', fromMe: true, at: at(2) },
    ],
    { archived: true, unreadCount: 1 },
  );
  const id = await pair(own);
  const { chats, contacts, messages } = await event(id, 'history.synced');
  assert.deepEqual({ chats, contacts, messages }, { chats: 1, contacts: 1, messages: 2 });
  const { body: listed } = await call('GET', `/${id}/messages`);
  const shown = (listed.data as Record<string, unknown>[]).map((message) => [
    ...[message.is_from_me, (message.content as { text: string }).text, message.created_at],
  ]);
  assert.deepEqual(shown.sort(), [
    [false, 'One', at(1).toISOString()],
    [true, 'Two', at(2).toISOString()],
  ]);
  const { body: chat } = await call('GET', `/${id}/chats/${ada.jid}`);
  assert.deepEqual([chat.archived, chat.unread_count], [true, 1]);
  const { rows } = await api.parts.db.query<{ type: string }>(
    "SELECT type FROM events WHERE instance_id = $1 AND (type LIKE 'message.%' OR type LIKE 'chat.%')",
    [id],
  );
  assert.deepEqual(rows, []);
});

test('an unreadable frame ends one connection of one instance, and last_error has the reason', async () => {
  const [own, other] = [network.phone('5511500000041'), network.phone('5511500000042')];
  const friend = network.phone('5511500000043');
  const [id, beside] = [await pair(own), await pair(other)];
  await waitFor(async () => other.device.isCaughtUp, 60_000);
  const { logins } = other.device;
  for (let time = 1; time <= 3; time += 1) {
    const before = own.device.logins;
    await waitFor(async () => own.device.isCaughtUp, 60_000);
    own.device.connection!.sendSealed(Buffer.from('x'), (frame) => frame.fill(0, 3));
    await waitFor(async () => own.device.logins > before, 60_000);
  }
  const { last_error } = await waitFor(async () => {
    const { body } = await call('GET', `/${id}`);
    return body.last_error !== null && body;
  }, 60_000);
  assert.equal(last_error, 'the network sent something that cannot be read; the connection is made anew');
  for (const each of [id, beside]) {
    const sent = await call('POST', `/${each}/messages/text`, { to: friend.number, text: `From ${each}` });
    assert.equal(sent.status, 202, sent.text);
    await friend.message(sent.body.message_id.replaceAll('-', '').toUpperCase());
  }
  assert.equal(other.device.logins, logins);
});

test('a call that the network does not let us refuse delays nothing, and its event comes in the end', async () => {
  const [own, friend] = [network.phone('5511500000051'), network.phone('5511500000052')];
  const id = await pair(own);
  await call('PATCH', `/${id}/settings`, { reject_calls: true });
  // A session that accepts sends can refuse calls.
  const sent = await call('POST', `/${id}/messages/text`, { to: friend.number, text: 'Ring me' });
  await friend.message(sent.body.message_id.replaceAll('-', '').toUpperCase());
  const calls = async () =>
    (
      await api.parts.db.query<{ data: { call_id: string; rejected: boolean } }>(
        `SELECT data FROM events WHERE instance_id = $1 AND type = 'call.received'`,
        [id],
      )
    ).rows.map(({ data }) => data);
  network.faults.ignoresRejections = true;
  const ignored = friend.call(own, 'offer');
  friend.text(own, 'Behind the call');
  await event(id, 'message.received');
  assert.deepEqual(await calls(), []);
  await waitFor(async () => (await calls()).length === 1, 60_000);
  network.faults.ignoresRejections = false;
  const refused = friend.call(own, 'offer');
  const told = await waitFor(async () => (await calls()).length === 2 && (await calls()), 60_000);
  assert.equal(told.find(({ call_id }) => call_id === ignored)?.rejected, false);
  assert.equal(told.find(({ call_id }) => call_id === refused)?.rejected, true);
  assert.equal(friend.phone.calls.get(refused), 'rejected');
});

test('both of two edits within one second, and of two answers or reactions to a status, cause an event', async () => {
  const [own, friend] = [network.phone('5511500000061'), network.phone('5511500000062')];
  const [id, at] = [await pair(own), new Date()];
  const key = { id: friend.text(own, 'zero', { at }) };
  const edit = (conversation: string) => ({ type: 'MESSAGE_EDIT', key, editedMessage: { conversation } });
  for (const text of ['one', 'two']) friend.send(own, { protocolMessage: edit(text) }, { at });
  const stanzaId = own.send('status@broadcast', { conversation: 'story' }, { audience: [friend] });
  const story = { remoteJid: 'status@broadcast', participant: own.jid };
  const contextInfo = { ...story, stanzaId, quotedMessage: { conversation: 'story' } };
  for (const text of ['fine', 'well'])
    friend.send(own, { extendedTextMessage: { text, contextInfo } }, { at });
  for (const text of ['👍', '']) {
    const reactionMessage = { key: { ...story, id: stanzaId, fromMe: false }, text };
    friend.send('status@broadcast', { reactionMessage }, { at, audience: [own], type: 'reaction' });
  }
  const told = await waitFor(async () => {
    const { rows } = await api.parts.db.query<{ told: string }>(
      `SELECT coalesce(data->>'emoji', data->>'content') AS told FROM events
       WHERE instance_id = $1 AND type LIKE 'status.re%' ORDER BY tx, id`,
      [id],
    );
    return rows.length >= 4 && rows.flatMap(Object.values);
  }, 60_000);
  assert.deepEqual(told, ['fine', 'well', '👍', '']);
  assert.equal((await call('GET', `/${id}/message/${key.id}`)).body.content.text, 'two');
});

test('a person whose number is learnt by writing to it has one chat, and their earlier messages can be quoted', async () => {
  const [own, friend] = [network.phone('5511500000071'), network.phone('5511500000072')];
  const [id, to] = [await pair(own), friend.number];
  const quoted_id = friend.text(own, 'before', { addressing: 'lid', hidesOther: true });
  assert.equal((await event(id, 'message.received')).phone, '');
  await call('POST', `/${id}/messages/text`, { to, text: 'Hello' });
  await event(id, 'message.sent');
  friend.text(own, 'after', { addressing: 'lid', hidesOther: true });
  await waitFor(async () => (await call('GET', `/${id}/messages`)).text.includes('after'), 60_000);
  const [chat, ...others] = (await call('GET', `/${id}/chats`)).body.data;
  assert.deepEqual([chat.chat_jid, chat.unread_count, others], [friend.jid, 2, []]);
  const { body } = await call('POST', `/${id}/messages/text`, { to, text: 'Yes', quoted_id });
  const { wire } = await friend.message(body.message_id.replaceAll('-', '').toUpperCase());
  assert.ok(JSON.stringify(wire).includes('"quotedMessage":{"conversation":"before"}'));
  assert.equal((await call('POST', `/${id}/chats/${to}/read`, { read: true })).status, 200);
  await friend.receipt(quoted_id, 'read');
});
