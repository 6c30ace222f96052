import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventPayloads, isEventType } from '@posthorn/contract/events.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

async function sentText(text = 'first words'): Promise<{ id: string; phone: string; hex: string }> {
  const phone = pipeline.newPhone();
  const { message_id: id } = await pipeline.send(instance, '/messages/text', { to: phone, text });
  await waitFor(async () => (await pipeline.eventsOf(id)).some((event) => event.type === 'message.read'));
  return { id, phone, hex: id.replaceAll('-', '').toUpperCase() };
}

function refusedAs(answer: { status: number; body: { error_code: string; message: string } }) {
  return [answer.status, answer.body.error_code, answer.body.message];
}

describe('editing', () => {
  for (const by of ['UUID', 'network id'] as const) {
    test(`changes the text on the phone, marks it as edited and causes an event (by ${by})`, async () => {
      const { id, hex, phone } = await sentText();
      const key = randomUUID();
      const path = `/messages/${by === 'UUID' ? id : hex}/edit`;
      const edit = () =>
        pipeline.call(instance, 'PUT', path, { content: 'better words' }, { 'idempotency-key': key });
      const answer = await edit();
      assert.equal(answer.status, 202);
      assert.deepEqual(Object.keys(answer.body).sort(), ['idempotency_key', 'status', 'task_id']);
      assert.notEqual(answer.body.task_id, id);
      const edited = await pipeline.event(instance, 'message.edited', (data) => data.message_ids[0] === id);
      assert.deepEqual(eventPayloads['message.edited'].parse(edited.data), edited.data);
      assert.equal(edited.data.is_from_me, true);
      assert.deepEqual(edited.data.content, { text: 'better words' });
      const [shown] = await pipeline.shown(phone);
      assert.deepEqual([shown.text, shown.edited], ['better words', true]);
      const read = await pipeline.call(instance, 'GET', `/message/${id}`);
      assert.deepEqual(read.body.content, { text: 'better words' });
      assert.ok(read.body.edited_at);
      const replay = await edit();
      assert.deepEqual(replay.body, { ...answer.body, status: 'sent' });
      assert.equal(replay.headers.get('idempotent-replayed'), 'true');
      const events = await pipeline.eventsOf(id);
      assert.equal(events.filter((event) => event.type === 'message.edited').length, 1);
      assert.equal(events.filter((event) => event.type === 'message.sent').length, 1);
    });
  }

  test('leaves nobody mentioned whom the old words did, as on the phone', async () => {
    const to = pipeline.newPhone();
    const text = { to, text: `ask @${to}`, mentions: [`${to}@s.whatsapp.net`] };
    const { message_id: id } = await pipeline.send(instance, '/messages/text', text);
    await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === id);
    const path = `/messages/${id}/edit`;
    const asked = await pipeline.call(
      instance,
      'PUT',
      path,
      { content: 'ask nobody' },
      { 'idempotency-key': randomUUID() },
    );
    assert.equal(asked.status, 202);
    const edited = await pipeline.event(instance, 'message.edited', (data) => data.message_ids[0] === id);
    assert.deepEqual(edited.data.content, { text: 'ask nobody' });
  });

  test('without content is refused in the words of SND-30', async () => {
    const { id } = await sentText();
    for (const body of [{}, { content: '' }, { content: '  ' }, { content: 5 }]) {
      const answer = await pipeline.call(instance, 'PUT', `/messages/${id}/edit`, body);
      assert.deepEqual(refusedAs(answer), [400, 'BAD_REQUEST', 'content is required']);
    }
  });

  test('is refused for a message that is unknown, received, deleted, forwarded, of another type or too old', async () => {
    const { id, phone } = await sentText();
    const edit = (ref: string) => pipeline.call(instance, 'PUT', `/messages/${ref}/edit`, { content: 'x' });
    assert.deepEqual(refusedAs(await edit(randomUUID())).slice(0, 2), [404, 'MESSAGE_NOT_FOUND']);
    assert.deepEqual(refusedAs(await edit('3EB0123456')).slice(0, 2), [404, 'MESSAGE_NOT_FOUND']);

    const inbound = await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      text: 'hi',
    });
    await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    assert.deepEqual(refusedAs(await edit(inbound.id)), [
      400,
      'BAD_REQUEST',
      'only outbound messages can be edited',
    ]);

    const location = await pipeline.send(instance, '/messages/location', {
      to: phone,
      latitude: 1,
      longitude: 2,
    });
    assert.deepEqual(refusedAs(await edit(location.message_id)).slice(0, 2), [400, 'EDIT_UNSUPPORTED_TYPE']);

    const forwarded = await pipeline.send(instance, '/messages/forward', {
      to: pipeline.newPhone(),
      forward_chat_id: phone,
      message_id: inbound.id,
    });
    assert.deepEqual(refusedAs(await edit(forwarded.message_id)).slice(0, 2), [
      400,
      'EDIT_FORWARDED_NOT_ALLOWED',
    ]);

    await pipeline.api.parts.db.query(
      `UPDATE messages SET sent_at = sent_at - interval '16 minutes' WHERE id = $1`,
      [id],
    );
    assert.deepEqual(refusedAs(await edit(id)).slice(0, 2), [400, 'EDIT_WINDOW_EXPIRED']);
    await pipeline.api.parts.db.query(
      `UPDATE messages SET sent_at = sent_at + interval '2 minutes' WHERE id = $1`,
      [id],
    );
    assert.equal((await edit(id)).status, 202);

    const gone = await sentText();
    await pipeline.call(instance, 'DELETE', `/messages/${gone.id}`, { to: gone.phone, message_id: gone.id });
    await pipeline.event(instance, 'message.deleted', (data) => data.message_ids[0] === gone.id);
    assert.deepEqual(refusedAs(await edit(gone.id)), [400, 'BAD_REQUEST', 'cannot edit a deleted message']);
  });

  test('fails alone when the network refuses it: the message has not failed', async () => {
    const { id, phone } = await sentText();
    await pipeline.sandbox.post('/faults', {
      kind: 'refuse',
      reason: 'not_now',
      account: instance.phone,
      times: 1,
    });
    const key = randomUUID();
    const edit = () =>
      pipeline.call(instance, 'PUT', `/messages/${id}/edit`, { content: 'x' }, { 'idempotency-key': key });
    const answer = await edit();
    const failed = await pipeline.event(
      instance,
      'text.delivery_failed',
      (data) => data.message_ids[0] === id,
    );
    assert.deepEqual(
      [failed.data.operation, failed.data.reason, failed.data.wire_state],
      ['edit', 'not_now', 'not_sent'],
    );
    assert.equal((await pipeline.shown(phone))[0].text, 'first words');
    assert.equal((await pipeline.call(instance, 'GET', `/message/${id}`)).body.status, 'read');
    assert.deepEqual((await edit()).body, { ...answer.body, status: 'failed' });
  });
});

describe('deleting for everyone', () => {
  test('takes the message off the phone and causes message.deleted with its family', async () => {
    const { id, hex, phone } = await sentText();
    const answer = await pipeline.call(instance, 'DELETE', `/messages/${hex}`, { to: phone, message_id: id });
    assert.equal(answer.status, 202);
    assert.deepEqual(Object.keys(answer.body).sort(), ['idempotency_key', 'status', 'task_id']);
    await pipeline.event(instance, 'text.deleted', (data) => data.message_ids[0] === id);
    const events = (await pipeline.eventsOf(id)).filter((event) => event.type.endsWith('.deleted'));
    assert.deepEqual(
      events.map((event) => event.type),
      ['message.deleted', 'text.deleted'],
    );
    for (const { type, data } of events) {
      assert.ok(isEventType(type));
      assert.deepEqual(eventPayloads[type].parse(data), data);
      assert.equal(data.is_from_me, true);
    }
    const [shown] = await pipeline.shown(phone);
    assert.deepEqual([shown.deleted, shown.text], [true, '']);
    const read = await pipeline.call(instance, 'GET', `/message/${id}`);
    assert.ok(read.body.deleted_at);
    assert.deepEqual(read.body.content, {});
  });

  test('is refused for a message that is unknown, in another chat, or named in two different ways', async () => {
    const { id, phone } = await sentText();
    const other = await sentText();
    const remove = (ref: string, body: object) => pipeline.call(instance, 'DELETE', `/messages/${ref}`, body);
    const unknown = randomUUID();
    assert.deepEqual(refusedAs(await remove(unknown, { to: phone, message_id: unknown })).slice(0, 2), [
      404,
      'MESSAGE_NOT_FOUND',
    ]);
    assert.deepEqual(refusedAs(await remove(id, { to: other.phone, message_id: id })).slice(0, 2), [
      404,
      'MESSAGE_NOT_FOUND',
    ]);
    assert.deepEqual(refusedAs(await remove(id, { to: phone, message_id: other.id })).slice(0, 2), [
      400,
      'BAD_REQUEST',
    ]);
    assert.deepEqual(refusedAs(await remove(id, { to: phone })).slice(0, 2), [400, 'MISSING_FIELD']);
    assert.deepEqual(refusedAs(await remove(id, { message_id: id })).slice(0, 2), [400, 'MISSING_FIELD']);
  });
});

describe('a change by a phone', () => {
  test('that edits a text leaves nothing of whom the old words mentioned and what they linked to', async () => {
    const phone = pipeline.newPhone();
    const before = {
      text: 'see https://a.example @you',
      mentions: [instance.jid],
      preview: { url: 'https://a.example', title: 'A' },
    };
    const { id: theirs } = await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      ...before,
    });
    const received = await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    assert.deepEqual(received.data.content, before);
    const edit = { to: instance.phone, type: 'edit', message_id: theirs, text: 'never mind' };
    await pipeline.sandbox.post(`/phones/${phone}/messages`, edit);
    const [id] = received.data.message_ids;
    const edited = await pipeline.event(instance, 'message.edited', (data) => data.message_ids[0] === id);
    assert.deepEqual(edited.data.content, { text: 'never mind' });
    const { body } = await pipeline.call(instance, 'GET', `/message/${id}`);
    assert.deepEqual(body.content, { text: 'never mind' });
  });

  test('that edits a text before an edit that has arrived already changes nothing', async () => {
    const phone = pipeline.newPhone();
    const say = (text: string) =>
      pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text });
    const { id: theirs } = await say('first');
    const received = await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    const [id] = received.data.message_ids;
    const chat = `${phone}@s.whatsapp.net`;
    const editedAt = Date.parse(received.data.timestamp);
    // The network repeats a message that could not be read, and others go on meanwhile.
    for (const [env, text, at] of [
      ['LATER', 'third', editedAt + 20_000],
      ['EARLIER', 'second', editedAt + 10_000],
      ['LATEST', 'fourth', editedAt + 20_000],
      ['BEFORE', 'second again', editedAt + 10_000],
    ]) {
      const event = { k: 'edited', id: theirs, env, chat, from: chat, content: { text }, at };
      await pipeline.sandbox.post('/events', { account: instance.phone, event });
    }
    await say('behind it');
    await pipeline.event(instance, 'text.received', ({ content }) => content.text === 'behind it');
    assert.deepEqual((await pipeline.call(instance, 'GET', `/message/${id}`)).body.content, {
      text: 'fourth',
    });
    const edits = (await pipeline.eventsOf(id)).filter(({ type }) => type === 'message.edited');
    assert.deepEqual(
      edits.map(({ data }) => data.content.text),
      ['third', 'fourth'],
    );
  });

  test('edits or deletes the stored message, and causes one event', async () => {
    const phone = pipeline.newPhone();
    const inbound = await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      text: 'befor',
    });
    const received = await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    const id = received.data.message_ids[0];
    await pipeline.sandbox.post('/faults', { kind: 'repeat_events', instance: instance.id });
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'edit',
      message_id: inbound.id,
      text: 'before',
    });
    const edited = await pipeline.event(instance, 'message.edited', (data) => data.message_ids[0] === id);
    assert.deepEqual([edited.data.is_from_me, edited.data.content], [false, { text: 'before' }]);
    assert.equal(edited.data.phone, phone);
    assert.equal((await pipeline.call(instance, 'GET', `/message/${id}`)).body.content.text, 'before');
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'delete',
      message_id: inbound.id,
    });
    await pipeline.event(instance, 'text.deleted', (data) => data.message_ids[0] === id);
    await pipeline.sandbox.call('DELETE', '/faults');
    await new Promise((resolve) => setTimeout(resolve, 200));
    const types = (await pipeline.eventsOf(id)).map((event) => event.type);
    assert.deepEqual(types, [
      'message.received',
      'text.received',
      'message.edited',
      'message.deleted',
      'text.deleted',
    ]);
  });

  test('changes only messages of its author, whatever id a message in another chat has', async () => {
    const [member, other] = [pipeline.newPhone(), pipeline.newPhone()];
    const say = (phone: string, body: object) => pipeline.sandbox.post(`/phones/${phone}/messages`, body);
    const people = [member, other, instance.phone];
    const { jid: to } = await pipeline.sandbox.post('/groups', { name: 'G', participants: people });
    const { message_id: ours } = await pipeline.send(instance, '/messages/text', { to, text: 'ours' });
    await pipeline.event(instance, 'message.read', (data) => data.message_ids[0] === ours);
    const { id: theirs } = await say(other, { to, text: 'theirs' });
    await pipeline.event(instance, 'text.received', (data) => data.phone === other);
    for (const id of [ours.replaceAll('-', '').toUpperCase(), theirs]) {
      await say(member, { to: instance.phone, text: 'mine', id });
      await say(member, { to: instance.phone, type: 'edit', message_id: id, text: 'foul' });
      await say(member, { to: instance.phone, type: 'delete', message_id: id });
    }
    await say(member, { to: instance.phone, text: 'behind it' });
    await pipeline.event(instance, 'text.received', ({ content }) => content.text === 'behind it');
    for (const [id, text] of [
      [ours, 'ours'],
      [theirs, 'theirs'],
    ]) {
      const { body } = await pipeline.call(instance, 'GET', `/message/${id}`);
      assert.deepEqual([body.content, body.edited_at, body.deleted_at], [{ text }, null, null]);
    }
  });
});
