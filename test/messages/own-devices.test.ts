import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventPayloads, isEventType } from '@posthorn/contract/events.ts';
import { networkIdOf } from '@posthorn/core/platform/ids.ts';
import { settled } from '../labels/label-state.ts';
import { png } from '../media/samples.ts';
import { waitFor } from '../support/process.ts';
import { type LoggedEvent, type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

const STATUS = 'status@broadcast';
const jidOf = (phone: string) => `${phone}@s.whatsapp.net`;

/** The account's user types on the phone; returns the network's id. */
async function type(to: string, body: object, of = instance): Promise<string> {
  return (await pipeline.sandbox.post(`/phones/${of.phone}/messages`, { to, ...body })).id;
}

function documented({ type, data }: LoggedEvent): void {
  assert.ok(isEventType(type));
  assert.deepEqual(eventPayloads[type].parse(data), data, `${type} as documented`);
}

/** The message of another device once it is recorded, with its event. */
async function told(networkId: string, of = instance) {
  const message = await waitFor(async () => {
    const answer = await pipeline.call(of, 'GET', `/message/${networkId}`);
    return answer.status === 200 && answer.body;
  });
  const sent = (await pipeline.eventsOf(message.message_id)).filter((each) => each.type === 'message.sent');
  assert.equal(sent.length, 1);
  documented(sent[0]!);
  return { message, sent: sent[0]!.data };
}

async function status(messageId: string, wanted: string) {
  await waitFor(
    async () =>
      (await pipeline.call(instance, 'GET', `/message/${messageId}`)).body.status === wanted || undefined,
    undefined,
    { what: wanted },
  );
}

describe("messages that the account's user types on the phone", () => {
  test('are outbound messages of the device, and cause message.sent with their content and without a key', async () => {
    const friend = pipeline.newPhone();
    const id = await type(friend, { text: 'On my way' });
    const { message, sent } = await told(id);
    assert.deepEqual(
      {
        ...sent,
        timestamp: '',
      },
      {
        message_ids: [message.message_id],
        message_type: 'text',
        chat: jidOf(friend),
        phone: friend,
        from: jidOf(friend),
        is_from_me: true,
        timestamp: '',
        content: { text: 'On my way' },
      },
    );
    const { direction, source, is_from_me, network_id, idempotency_key, chat_jid, from_jid, content } =
      message;
    assert.deepEqual(
      { direction, source, is_from_me, network_id, idempotency_key, chat_jid, from_jid, content },
      {
        direction: 'outbound',
        source: 'device',
        is_from_me: true,
        network_id: id,
        idempotency_key: null,
        chat_jid: jidOf(friend),
        from_jid: null,
        content: { text: 'On my way' },
      },
    );
    assert.equal(message.sent_at, sent.timestamp);
    const listed = await pipeline.call(instance, 'GET', `/messages?direction=outbound&chat_jid=${friend}`);
    assert.deepEqual(
      listed.body.data.map((each: { message_id: string }) => each.message_id),
      [message.message_id],
    );
  });

  test('differ in their source from sends of the API, and received messages have none', async () => {
    const friend = pipeline.newPhone();
    const { message_id } = await pipeline.send(instance, '/messages/text', { to: friend, text: 'ours' });
    const ours = await pipeline.call(instance, 'GET', `/message/${message_id}`);
    assert.deepEqual([ours.body.source, ours.body.is_from_me], ['api', true]);
    const { id } = await pipeline.sandbox.post(`/phones/${friend}/messages`, {
      to: instance.phone,
      text: 'x',
    });
    await settled(pipeline, instance);
    const theirs = await pipeline.call(instance, 'GET', `/message/${id}`);
    assert.deepEqual([theirs.body.source, theirs.body.is_from_me], [null, false]);
  });

  test('with media are fetched and stored like received media, and their receipts wait for them', async () => {
    const friend = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone: friend, auto_read: true, read_delay_ms: 0 });
    const media = { media_base64: (await png()).toString('base64'), mime_type: 'image/png' };
    const id = await type(friend, { type: 'image', ...media, caption: 'Look' });
    const { message, sent } = await told(id);
    assert.deepEqual([sent.content, sent.mime_type], [{ caption: 'Look' }, 'image/png']);
    assert.equal(sent.media_id, message.media_id);
    const bytes = await pipeline.call(instance, 'GET', `/media/${message.media_id}`);
    assert.equal(bytes.status, 200);
    await status(message.message_id, 'read');
  });

  test('arrive unchanged in every family', async () => {
    const friend = pipeline.newPhone();
    const families: [string, object][] = [
      ['location', { latitude: 1.5, longitude: 2.5, name: 'Here' }],
      ['contact', { contacts: [{ name: 'Bia', phone: '+5511999990003', vcard: 'BEGIN:VCARD\nEND:VCARD' }] }],
      ['poll', { question: 'When?', options: ['now', 'later'], max_selections: 1 }],
      ['event', { name: 'Launch', start_at: '2030-01-01T10:00:00Z' }],
    ];
    for (const [family, content] of families) {
      const { message, sent } = await told(await type(friend, { type: family, ...content }));
      assert.deepEqual([message.message_type, message.content, sent.content], [family, content, content]);
      if (family === 'contact') assert.deepEqual(sent.contacts, sent.content.contacts);
    }
  });

  test('in a group belong to the chat of the group, with the receipts of its members', async () => {
    const friend = pipeline.newPhone();
    const group = await pipeline.sandbox.post('/groups', {
      name: 'Team',
      participants: [instance.phone, friend],
    });
    const { message, sent } = await told(await type(group.jid, { text: 'Hello, all' }));
    assert.deepEqual([message.chat_jid, sent.chat, sent.phone], [group.jid, group.jid, '']);
    await status(message.message_id, 'read');
    const [read] = (await pipeline.eventsOf(message.message_id)).filter(
      ({ type }) => type === 'message.read',
    );
    assert.equal(read!.data.phone, friend);
  });

  test('get the receipts, edits, reactions and deletions of a message like any other', async () => {
    const friend = pipeline.newPhone();
    const id = await type(friend, { text: 'Frist' });
    const { message } = await told(id);
    await status(message.message_id, 'read');
    await type(friend, { type: 'edit', message_id: id, text: 'First' });
    await pipeline.event(instance, 'message.edited', (data) => data.message_ids[0] === message.message_id);
    const edited = await pipeline.call(instance, 'GET', `/message/${id}`);
    assert.deepEqual(edited.body.content, { text: 'First' });
    const reaction = await told(await type(friend, { type: 'reaction', message_id: id, emoji: '👍' }));
    assert.deepEqual(reaction.sent.content, { message_id: id, emoji: '👍' });
    await pipeline.sandbox.post(`/phones/${friend}/messages`, {
      to: instance.phone,
      type: 'reaction',
      message_id: id,
      emoji: '🎉',
    });
    const back = await pipeline.event(instance, 'reaction.received', (data) => data.phone === friend);
    assert.equal(back.data.content.message_id, id);
    await type(friend, { type: 'delete', message_id: id });
    const deleted = await pipeline.event(
      instance,
      'message.deleted',
      (data) => data.message_ids[0] === message.message_id,
    );
    assert.equal(deleted.data.is_from_me, true);
    const gone = await pipeline.call(instance, 'GET', `/message/${id}`);
    assert.deepEqual([gone.body.content, gone.body.deleted_at !== null], [{}, true]);
  });

  test('are edited, deleted, quoted and forwarded through the API', async () => {
    const friend = pipeline.newPhone();
    const id = await type(friend, { text: 'Mine' });
    const { message } = await told(id);
    const ref = message.message_id;
    await pipeline.call(instance, 'PUT', `/messages/${ref}/edit`, { content: 'Mine too' });
    await pipeline.event(instance, 'message.edited', (data) => data.message_ids[0] === ref);
    const quoting = { to: friend, text: 'As I said', quoted_id: ref };
    const quote = await pipeline.send(instance, '/messages/text', quoting);
    const other = pipeline.newPhone();
    await pipeline.send(instance, '/messages/forward', {
      to: other,
      forward_chat_id: friend,
      message_id: ref,
    });
    const [forwarded] = await waitFor(async () => {
      const shown = await pipeline.shown(other);
      return shown.length > 0 && shown;
    });
    assert.deepEqual([forwarded.text, forwarded.is_forwarded], ['Mine too', undefined]);
    const at = await waitFor(async () =>
      (await pipeline.shown(friend)).find((each) => each.id === networkIdOf(quote.message_id)),
    );
    assert.equal(at.quoted_id, id);
    const removed = await pipeline.call(instance, 'DELETE', `/messages/${ref}`, {
      to: friend,
      message_id: ref,
    });
    assert.equal(removed.status, 202, removed.text);
    await pipeline.event(instance, 'message.deleted', (data) => data.message_ids[0] === ref);
  });

  test('count neither for the guard nor for usage', async () => {
    const guarded = await pipeline.connect({ anti_spam_guard_enabled: true });
    const friend = pipeline.newPhone();
    for (let nth = 0; nth < 12; nth += 1)
      await told(await type(friend, { text: 'The same' }, guarded), guarded);
    await settled(pipeline, guarded);
    const usage = await pipeline.call(guarded, 'GET', '/usage');
    assert.deepEqual(
      [usage.body.messages_sent_today, usage.body.messages_today, usage.body.delivered_today],
      [0, 0, 0],
    );
    await pipeline.send(guarded, '/messages/text', { to: friend, text: 'The same' });
  });

  test('mark the chat as read up to them, as the phone shows it', async () => {
    const friend = pipeline.newPhone();
    const write = (text: string) =>
      pipeline.sandbox.post(`/phones/${friend}/messages`, { to: instance.phone, text });
    await write('one');
    await write('two');
    await settled(pipeline, instance);
    const chat = async () => (await pipeline.call(instance, 'GET', `/chats/${friend}`)).body;
    assert.equal((await chat()).unread_count, 2);
    const { message } = await told(await type(friend, { text: 'answered' }));
    const after = await chat();
    assert.deepEqual([after.unread_count, after.last_message.message_id], [0, message.message_id]);
    await write('three');
    await settled(pipeline, instance);
    assert.equal((await chat()).unread_count, 1);
  });

  test('to oneself are one message each', async () => {
    const id = await type(instance.phone, { text: 'Note to self' });
    const { message } = await told(id);
    assert.equal(message.chat_jid, instance.jid);
  });

  test('cause one event, however often the network repeats them', async () => {
    const friend = pipeline.newPhone();
    await pipeline.sandbox.post('/faults', { kind: 'repeat_events', instance: instance.id });
    const { message } = await told(await type(friend, { text: 'Once' }));
    await settled(pipeline, instance);
    await pipeline.sandbox.call('DELETE', '/faults');
    const events = await pipeline.eventsOf(message.message_id);
    assert.equal(events.filter(({ type }) => type === 'message.sent').length, 1);
  });

  test('with an id of 32 digits, as phones draw them too, get their receipts, edits and answers', async () => {
    const friend = pipeline.newPhone();
    const id = 'A5C0FFEE00112233445566778899AABB';
    const { message } = await told(await type(friend, { id, text: 'From Android' }));
    assert.equal(message.network_id, id);
    await status(message.message_id, 'read');
    await type(friend, { type: 'edit', message_id: id, text: 'From an Android' });
    await pipeline.event(instance, 'message.edited', (data) => data.message_ids[0] === message.message_id);
    await pipeline.sandbox.post(`/phones/${friend}/messages`, {
      to: instance.phone,
      text: 'Seen',
      quoted_id: id,
    });
    const answer = await pipeline.event(instance, 'text.received', (data) => data.phone === friend);
    assert.equal(answer.data.quoted_id, id);
    const theirs = 'B5C0FFEE00112233445566778899AABB';
    const write = (body: object) =>
      pipeline.sandbox.post(`/phones/${friend}/messages`, { to: instance.phone, ...body });
    await write({ id: theirs, text: 'Me to' });
    await write({ type: 'edit', message_id: theirs, text: 'Me too' });
    const edited = await pipeline.event(
      instance,
      'message.edited',
      (data) => data.phone === friend && !data.is_from_me,
    );
    assert.deepEqual(edited.data.content, { text: 'Me too' });
  });
});

describe('the echo of a send of the API', () => {
  test('is matched with that send, whether that is sent by then or still waits', async () => {
    const friend = pipeline.newPhone();
    const body = { to: friend, text: 'Sent here' };
    const { message_id } = await pipeline.send(instance, '/messages/text', body);
    const echo = {
      k: 'message',
      id: networkIdOf(message_id),
      chat: jidOf(friend),
      from: instance.jid,
      from_me: true,
      name: '',
      type: 'text',
      content: { text: 'Sent here' },
      at: Date.now(),
    };
    for (let times = 0; times < 2; times += 1) {
      await pipeline.sandbox.post('/events', { account: instance.phone, event: echo });
      await settled(pipeline, instance);
    }
    await status(message_id, 'read');
    const listed = await pipeline.call(instance, 'GET', `/messages?chat_jid=${friend}`);
    assert.deepEqual(
      listed.body.data.map(({ message_id: id, source }: Record<string, string>) => [id, source]),
      [[message_id, 'api']],
    );
    const sent = (await pipeline.eventsOf(message_id)).filter(({ type }) => type === 'message.sent');
    assert.equal(sent.length, 1);
    assert.ok(sent[0]!.data.idempotency_key);
  });
});

describe('statuses that are posted on the phone', () => {
  test('are outbound in the feed, with their views, and leave it when they are deleted there', async () => {
    const friend = pipeline.newPhone();
    await pipeline.sandbox.post(`/phones/${instance.phone}/contacts`, { add: [friend], mutual: true });
    const id = await type('status', { text: 'Closed today' });
    const { message, sent } = await told(id);
    assert.deepEqual(
      [message.message_type, sent.message_type, sent.chat],
      ['status_text', 'status_text', STATUS],
    );
    const feed = await pipeline.call(instance, 'GET', '/status?direction=outbound');
    const [item] = feed.body.data;
    assert.deepEqual(
      [item.status_message_id, item.direction, item.type, item.content, item.phone],
      [id, 'outbound', 'text', 'Closed today', ''],
    );
    await pipeline.sandbox.post(`/phones/${friend}/view-status`, {});
    const viewed = await pipeline.event(instance, 'status.viewed', (data) => data.phone === friend);
    assert.equal(viewed.data.status_message_id, id);
    for (const ref of [id, message.message_id]) {
      const views = await pipeline.call(instance, 'GET', `/status/${ref}/views`);
      assert.deepEqual([views.body.count, views.body.status_message_id], [1, id], `by ${ref}`);
      assert.equal((await pipeline.call(instance, 'GET', `/status/${ref}`)).status, 200);
    }
    await type('status', { type: 'delete', message_id: id });
    await pipeline.event(instance, 'message.deleted', (data) => data.message_ids[0] === message.message_id);
    const gone = await waitFor(async () => {
      const answer = await pipeline.call(instance, 'GET', `/status/${id}`);
      return answer.status === 404 && answer;
    });
    assert.equal(gone.status, 404);
  });

  test('cause an event of an answer when they answer a status of somebody else', async () => {
    const friend = pipeline.newPhone();
    await pipeline.sandbox.post(`/phones/${instance.phone}/contacts`, { add: [friend], mutual: true });
    const posted = await pipeline.sandbox.post(`/phones/${friend}/messages`, { to: 'status', text: 'News' });
    await pipeline.event(instance, 'status.received', (data) => data.status_message_id === posted.id);
    const { message } = await told(await type(friend, { text: 'Nice', status_id: posted.id }));
    assert.deepEqual(message.content.status_reply, { status_message_id: posted.id, phone: friend });
    const reply = await pipeline.event(instance, 'status.reply_sent', (data) => data.phone === friend);
    documented(reply);
    assert.equal(reply.data.status_message_id, posted.id);
  });
});
