import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { settled } from '../labels/label-state.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;

before(async () => {
  pipeline = await startSending({ sandbox: { autoPair: false } });
});
after(() => pipeline.close());

const jidOf = (phone: string) => `${phone}@s.whatsapp.net`;

async function ask(of: TestInstance, path: string) {
  const answer = await pipeline.call(of, 'GET', path);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

/** Pairs an instance with this phone, like a user who scans its QR. */
async function pairWith(phone: string, id?: string): Promise<TestInstance> {
  const { db, bus } = pipeline.api.parts;
  const instanceId =
    id ??
    (await seedInstance(db, pipeline.company.companyId, {
      state: 'CREATED',
      wanted: 'connected',
      settings: { humanize_enabled: false, anti_spam_guard_enabled: false },
    }));
  bus.notify('instance', instanceId);
  const qr = await waitFor(async () => {
    const { rows } = await db.query<{ qr: string | null }>(
      'SELECT qr FROM instance_pairings WHERE instance_id = $1',
      [instanceId],
    );
    return rows[0]?.qr;
  });
  await pipeline.sandbox.post('/pair', { qr, phone });
  const instance = { id: instanceId, phone, jid: jidOf(phone) };
  await waitFor(async () => (await pipeline.call(instance, 'GET', '/connection')).body.state === 'CONNECTED');
  return instance;
}

async function eventsOf({ id }: TestInstance) {
  const { rows } = await pipeline.api.parts.db.query<{ type: string; data: Record<string, unknown> }>(
    'SELECT type, data FROM events WHERE instance_id = $1 ORDER BY tx, id',
    [id],
  );
  return rows;
}

describe('the history from before the pairing', () => {
  test('becomes chats, contacts and messages, once, in order, with their times and without events', async () => {
    const [own, ana, bob] = [pipeline.newPhone(), pipeline.newPhone(), pipeline.newPhone()];
    await pipeline.sandbox.post('/phones', { phone: own, auto_read: false });
    await pipeline.sandbox.post('/phones', { phone: ana, name: 'Ana', auto_read: true, read_delay_ms: 0 });
    await pipeline.sandbox.post('/phones', { phone: bob, name: 'Bob', online: false });
    await pipeline.sandbox.post(`/phones/${own}/contacts`, { add: [ana], name: 'Ana Souza' });
    const send = async (from: string, to: string, text: string) =>
      (await pipeline.sandbox.post(`/phones/${from}/messages`, { to, text })).id as string;
    const sent: string[] = [];
    // More than one part of the history.
    for (let n = 0; n < 450; n++) sent.push(await send(n % 3 ? ana : own, n % 3 ? own : ana, `n ${n}`));
    const toBob = await send(own, bob, 'are you there?');
    await pipeline.sandbox.post(`/phones/${own}/chat`, { chat: ana, pinned: true });
    await pipeline.sandbox.post(`/phones/${own}/label`, { name: 'Made before', color: 2 });
    await pipeline.sandbox.post(`/phones/${own}/put-label`, { label_id: '1', chat: ana });

    const instance = await pairWith(own);
    const synced = await pipeline.event(instance, 'history.synced');
    assert.deepEqual(eventPayloads['history.synced'].parse(synced.data), synced.data);
    const { timestamp: _, ...counts } = synced.data;
    assert.deepEqual(counts, { chats: 2, contacts: 2, messages: 451 });

    const shown = await pipeline.shown(own);
    const listed = await allMessages(instance);
    assert.deepEqual(
      listed.map((message) => [
        message.network_id,
        message.content.text,
        message.created_at,
        message.is_from_me,
      ]),
      shown.map((message) => [message.id, message.text, message.time, message.from_me]),
    );
    assert.equal(listed.find(({ network_id }) => network_id === toBob)?.status, 'sent');
    assert.equal(listed.find(({ is_from_me }) => is_from_me)?.status, 'read');

    const { data: chats } = await ask(instance, '/chats');
    assert.deepEqual(
      chats.map((chat: { phone: string; name: string; unread_count: number; pinned: boolean }) => {
        const { phone, name, unread_count, pinned } = chat;
        return { phone, name, unread_count, pinned };
      }),
      [
        { phone: bob, name: 'Bob', unread_count: 0, pinned: false },
        { phone: ana, name: 'Ana Souza', unread_count: 300, pinned: true },
      ],
    );
    assert.deepEqual(chats[1].labels, ['1']);
    assert.equal(chats[1].last_message.preview, 'n 449');
    const types = (await eventsOf(instance)).map(({ type }) => type);
    assert.deepEqual(
      types.filter((type) => !/^(instance|label)\./.test(type)),
      ['history.synced'],
    );

    // Paired again: nothing is stored twice, and new messages come with the new history.
    await pipeline.sandbox.post('/faults', { kind: 'logout', instance: instance.id });
    await waitFor(
      async () => (await pipeline.call(instance, 'GET', '/connection')).body.state === 'DISCONNECTED',
    );
    await send(ana, own, 'while unpaired');
    await pipeline.call(instance, 'POST', '/connect');
    await pairWith(own, instance.id);
    const again = await waitFor(async () =>
      (await eventsOf(instance)).filter(({ type }) => type === 'history.synced').at(1),
    );
    assert.equal(again.data.messages, 1);
    assert.equal((await allMessages(instance)).length, 452);
    await settled(pipeline, instance);
    const chat = await ask(instance, `/chats/${ana}`);
    assert.deepEqual([chat.unread_count, chat.last_message.preview], [301, 'while unpaired']);
    assert.deepEqual((await ask(instance, '/labels')).labels.length, 1);
    assert.equal(
      (await eventsOf(instance)).filter(({ type }) => type === 'label.created').length,
      1,
      'the same account keeps its labels, and they are told once',
    );
  });

  test('is not announced when the phone has none', async () => {
    const instance = await pairWith(pipeline.newPhone());
    await settled(pipeline, instance);
    assert.ok(!(await eventsOf(instance)).some(({ type }) => type === 'history.synced'));
  });

  test('has messages that can be answered, starred and labelled like any other', async () => {
    const [own, ana] = [pipeline.newPhone(), pipeline.newPhone()];
    await pipeline.sandbox.post('/phones', { phone: own });
    const ours = await pipeline.sandbox.post(`/phones/${own}/messages`, { to: ana, text: 'from the phone' });
    const theirs = await pipeline.sandbox.post(`/phones/${ana}/messages`, { to: own, text: 'to the phone' });
    const instance = await pairWith(own);
    await pipeline.event(instance, 'history.synced');
    for (const [at, { id }] of [ours, theirs].entries()) {
      const reply = { to: ana, text: `reply ${at}`, quoted_id: id };
      const { message_id } = await pipeline.send(instance, '/messages/text', reply);
      await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === message_id);
      const star = { chat_jid: ana, message_id: id, from_me: at === 0, starred: true };
      assert.equal((await pipeline.call(instance, 'POST', '/messages/star', star)).status, 200);
      const label = await pipeline.call(instance, 'POST', '/labels', { name: `L${at}`, color: at });
      const path = `/messages/${id}/labels/${label.body.label_id}`;
      assert.equal((await pipeline.call(instance, 'POST', path)).status, 200);
    }
    const shown = await pipeline.shown(own, ana);
    assert.deepEqual(
      shown.slice(0, 2).map(({ starred }) => starred),
      [true, true],
    );
    assert.deepEqual(
      shown.slice(2).map(({ quoted_id }) => quoted_id),
      [ours.id, theirs.id],
    );
  });

  test('has messages whose labels come off when the phone takes them off', async () => {
    const [own, ana] = [pipeline.newPhone(), pipeline.newPhone()];
    const { id } = await pipeline.sandbox.post(`/phones/${ana}/messages`, {
      to: own,
      text: 'labelled before',
    });
    await pipeline.sandbox.post(`/phones/${own}/label`, { name: 'Before', color: 1 });
    const link = { label_id: '1', chat: ana, message_id: id };
    await pipeline.sandbox.post(`/phones/${own}/put-label`, link);
    const instance = await pairWith(own);
    await pipeline.event(instance, 'history.synced');
    await pipeline.sandbox.post(`/phones/${own}/put-label`, { ...link, associated: false });
    await pipeline.sandbox.post(`/phones/${own}/put-label`, link);
    const [message] = await allMessages(instance);
    const path = `/messages/${message.message_id}/labels/1`;
    assert.equal((await pipeline.call(instance, 'DELETE', path)).status, 200);
    await settled(pipeline, instance);
    const told = (await eventsOf(instance)).filter(({ type }) => type.endsWith('ssociated'));
    assert.deepEqual(
      told.map(({ type, data }) => [type, data.message_id]),
      [
        ['label.associated', id],
        ['label.dissociated', message.message_id],
        ['label.associated', message.message_id],
        ['label.dissociated', message.message_id],
      ],
    );
  });

  test('has messages whose labels come off when the API takes them off', async () => {
    const [own, ana] = [pipeline.newPhone(), pipeline.newPhone()];
    const { id } = await pipeline.sandbox.post(`/phones/${ana}/messages`, {
      to: own,
      text: 'labelled before',
    });
    await pipeline.sandbox.post(`/phones/${own}/label`, { name: 'Before', color: 1 });
    await pipeline.sandbox.post(`/phones/${own}/put-label`, { label_id: '1', chat: ana, message_id: id });
    const instance = await pairWith(own);
    await pipeline.event(instance, 'history.synced');
    assert.equal((await pipeline.call(instance, 'DELETE', `/messages/${id}/labels/1`)).status, 200);
    await settled(pipeline, instance);
    const told = (await eventsOf(instance)).filter(({ type }) => type.endsWith('ssociated'));
    assert.deepEqual(
      told.map(({ type }) => type),
      ['label.associated', 'label.dissociated'],
    );
  });
});

test('another account on the same instance begins without the names and chats that the phone of the one before told', async () => {
  const [first, second] = [pipeline.newPhone(), pipeline.newPhone()];
  const [saved, silent, writer] = [pipeline.newPhone(), pipeline.newPhone(), pipeline.newPhone()];
  const instance = await pairWith(first);
  await pipeline.sandbox.post(`/phones/${first}/contacts`, { add: [saved], name: 'Saved' });
  await pipeline.sandbox.post('/phones', { phone: writer, name: 'Ana' });
  await pipeline.sandbox.post(`/phones/${writer}/messages`, { to: first, text: 'hello' });
  const chatOf = (phone: string, name: string) => {
    const state = { unreadCount: 0, archived: false, pinned: false, mutedUntil: null };
    return { chat: jidOf(phone), name, ...state };
  };
  const batch = {
    chats: [chatOf(writer, 'Private name'), chatOf(silent, 'Silent')],
    ...{ contacts: [], lids: [], messages: [], position: 0, progress: 100, isLast: true },
  };
  const event = { k: 'history', batch, at: Date.now() };
  await pipeline.sandbox.post('/events', { account: first, event });
  const phonesOf = ({ data }: { data: { phone: string }[] }) => data.map(({ phone }) => phone).sort();
  await waitFor(async () => (await ask(instance, '/chats')).data.length === 2 || undefined);
  assert.deepEqual(phonesOf(await ask(instance, '/contacts')), [saved, writer].sort());
  assert.equal((await ask(instance, `/chats/${writer}`)).name, 'Private name');

  await pipeline.sandbox.post('/faults', { kind: 'logout', instance: instance.id });
  await waitFor(async () => (await ask(instance, '/connection')).state === 'DISCONNECTED' || undefined);
  await pipeline.call(instance, 'POST', '/connect');
  const other = await pairWith(second, instance.id);
  assert.deepEqual(phonesOf(await ask(other, '/contacts')), [writer]);
  const { data } = await ask(other, '/chats');
  assert.deepEqual(
    data.map(({ phone, name }: { phone: string; name: string }) => [phone, name]),
    [[writer, 'Ana']],
  );
  const { rows } = await pipeline.api.parts.db.query(
    'SELECT 1 FROM contacts WHERE instance_id = $1 AND jid = $2',
    [instance.id, jidOf(saved)],
  );
  assert.equal(rows.length, 0);
});

// biome-ignore lint/suspicious/noExplicitAny: messages are looked at field by field
async function allMessages(instance: TestInstance): Promise<any[]> {
  const found = [];
  let before = '';
  for (;;) {
    const page = await ask(instance, `/messages?limit=200${before}`);
    found.push(...page.data);
    if (!page.next_cursor) return found.toReversed();
    before = `&before=${page.next_cursor}`;
  }
}
