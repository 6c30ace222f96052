import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

const hexOf = (id: string) => id.replaceAll('-', '').toUpperCase();

async function sent(path: string, to: string, body: object): Promise<string> {
  const { message_id: id } = await pipeline.send(instance, path, { to, ...body });
  await waitFor(async () =>
    (await pipeline.eventsOf(id)).some((event) => event.type === 'message.delivered'),
  );
  return id;
}

async function post(path: string, body: object) {
  const answer = await pipeline.call(instance, 'POST', path, body, { 'idempotency-key': '' });
  return {
    status: answer.status,
    code: answer.body.error_code,
    message: answer.body.message,
    body: answer.body,
  };
}

describe('pinning', () => {
  test('refuses a wrong duration, but ignores any duration of an unpin', async () => {
    const phone = pipeline.newPhone();
    const id = await sent('/messages/text', phone, { text: 'unpin me' });
    for (const duration_seconds of [60, -1, 86_400, 1.5, 'a day', null, {}]) {
      const body = { chat_jid: phone, message_id: id, duration_seconds };
      const off = await post('/messages/pin', { ...body, pin: false });
      assert.deepEqual([off.status, off.body.action], [200, 'unpinned'], JSON.stringify(duration_seconds));
      if (duration_seconds === 86_400) continue;
      const on = await post('/messages/pin', { ...body, pin: true });
      assert.deepEqual([on.status, on.code], [400, 'BAD_REQUEST'], JSON.stringify(duration_seconds));
      assert.match(on.message, /^duration_seconds: must be one of 0, 86400/);
    }
  });

  test('pins and unpins for everybody, and is answered at once without an Idempotency-Key', async () => {
    const phone = pipeline.newPhone();
    const id = await sent('/messages/text', phone, { text: 'pin me' });
    const pin = { chat_jid: phone, message_id: id, pin: true, duration_seconds: 604_800 };
    const { status, body } = await post('/messages/pin', pin);
    assert.equal(status, 200);
    assert.match(body.envelope_message_id, /^[0-9A-F]+$/);
    assert.deepEqual(
      { ...body, envelope_message_id: '' },
      {
        instance_id: instance.id,
        chat_jid: `${phone}@s.whatsapp.net`,
        target_message_id: id,
        action: 'pinned',
        envelope_message_id: '',
      },
    );
    assert.equal((await pipeline.shown(phone))[0].pinned, true);
    const off = await post('/messages/pin', {
      ...pin,
      message_id: hexOf(id),
      target_from_me: true,
      pin: false,
    });
    assert.deepEqual([off.status, off.body.action], [200, 'unpinned']);
    assert.equal((await pipeline.shown(phone))[0].pinned, false);
  });

  test('pins a received message by its network id with the default sender', async () => {
    const phone = pipeline.newPhone();
    const inbound = await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      text: 'hi',
    });
    await pipeline.event(instance, 'text.received', (data) => data.phone === phone);
    assert.equal(
      (await post('/messages/pin', { chat_jid: phone, message_id: inbound.id, pin: true })).status,
      200,
    );
    assert.equal((await pipeline.shown(phone))[0].pinned, true);
  });

  test('in a group needs an admin and the sender', async () => {
    const member = pipeline.newPhone();
    const group = await pipeline.sandbox.post('/groups', {
      name: 'G',
      participants: [member, instance.phone],
    });
    const id = await sent('/messages/text', group.jid, { text: 'for all' });
    const pin = { chat_jid: group.jid, message_id: id, pin: true, target_from_me: true };
    const missing = await post('/messages/pin', pin);
    assert.deepEqual([missing.status, missing.code], [400, 'MISSING_FIELD']);
    assert.match(missing.message, /target_sender_jid/);
    const asSender = { ...pin, target_sender_jid: instance.jid };
    assert.deepEqual((await post('/messages/pin', asSender)).code, 'FORBIDDEN');
    await pipeline.sandbox.post('/groups', {
      jid: group.jid,
      name: 'G',
      participants: [member],
      admins: [instance.phone],
    });
    assert.equal((await post('/messages/pin', asSender)).status, 200);
    assert.equal((await pipeline.shown(member, group.jid))[0].pinned, true);
  });

  test('is 404 for an unknown message, and 400 for a wrong shape', async () => {
    const phone = pipeline.newPhone();
    await sent('/messages/text', phone, { text: 'x' });
    for (const message_id of [randomUUID(), '3EB0DEADBEEF']) {
      const refused = await post('/messages/pin', { chat_jid: phone, message_id, pin: true });
      assert.deepEqual([refused.status, refused.code], [404, 'MESSAGE_NOT_FOUND']);
    }
    for (const body of [
      { message_id: 'A1', pin: true },
      { chat_jid: phone, pin: true },
      { chat_jid: phone, message_id: 'A1' },
      { chat_jid: phone, message_id: 'A1', pin: 'yes' },
      { chat_jid: phone, message_id: 'A1', pin: true, duration_seconds: 60 },
      { chat_jid: 'nobody@nowhere', message_id: 'A1', pin: true },
    ]) {
      assert.equal((await post('/messages/pin', body)).status, 400, JSON.stringify(body));
    }
  });
});

describe('voting', () => {
  const poll = { question: 'When?', options: ['now', 'later', 'never'], max_selections: 2 };

  test('casts, changes and clears a vote by exact names', async () => {
    const phone = pipeline.newPhone();
    const id = await sent('/messages/poll', phone, poll);
    const vote = (selected_options: string[]) =>
      post('/messages/poll-vote', {
        chat_jid: phone,
        poll_message_id: id,
        poll_from_me: true,
        selected_options,
      });
    const votes = async () => (await pipeline.shown(phone))[0].votes;
    const first = await vote(['now', 'later']);
    assert.equal(first.status, 200);
    assert.match(first.body.envelope_message_id, /^[0-9A-F]+$/);
    assert.deepEqual(
      [first.body.instance_id, first.body.chat_jid, first.body.poll_message_id, first.body.selected_options],
      [instance.id, `${phone}@s.whatsapp.net`, id, ['now', 'later']],
    );
    assert.deepEqual(await votes(), [{ from: instance.jid, options: ['now', 'later'] }]);
    assert.equal((await vote(['never'])).status, 200);
    assert.deepEqual(await votes(), [{ from: instance.jid, options: ['never'] }]);
    assert.equal((await vote([])).status, 200);
    assert.deepEqual(await votes(), []);
    assert.deepEqual((await vote(['Now'])).code, 'BAD_REQUEST');
    assert.deepEqual((await vote(['now', 'later', 'never'])).code, 'BAD_REQUEST');
  });

  test('receives the votes of phones, and votes in the poll of a phone by its network id', async () => {
    const phone = pipeline.newPhone();
    const ours = await sent('/messages/poll', phone, poll);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'poll_vote',
      message_id: hexOf(ours),
      options: ['later'],
    });
    const received = await pipeline.event(instance, 'poll_vote.received', (data) => data.phone === phone);
    assert.deepEqual(received.data.content, { poll_message_id: ours, selected_options: ['later'] });
    const theirs = await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'poll',
      ...poll,
    });
    await pipeline.event(instance, 'poll.received', (data) => data.phone === phone);
    const answer = await post('/messages/poll-vote', {
      chat_jid: phone,
      poll_message_id: theirs.id,
      selected_options: ['now'],
    });
    assert.equal(answer.status, 200);
  });

  test('without the secret of the poll is 404', async () => {
    const phone = pipeline.newPhone();
    const id = await sent('/messages/poll', phone, poll);
    await pipeline.sandbox.post('/faults', { kind: 'forget_poll_secret', instance: instance.id });
    const refused = await post('/messages/poll-vote', {
      chat_jid: phone,
      poll_message_id: id,
      poll_from_me: true,
      selected_options: ['now'],
    });
    assert.deepEqual([refused.status, refused.code], [404, 'MESSAGE_NOT_FOUND']);
    assert.match(refused.message, /secret/);
  });
});

describe('starring', () => {
  test('changes this account alone, and causes message.starred when it has synced', async () => {
    const phone = pipeline.newPhone();
    const id = await sent('/messages/text', phone, { text: 'star' });
    for (const starred of [true, false]) {
      const answer = await post('/messages/star', {
        chat_jid: phone,
        message_id: id,
        from_me: true,
        starred,
      });
      assert.deepEqual(
        [answer.status, answer.body],
        [
          200,
          {
            instance_id: instance.id,
            chat_jid: `${phone}@s.whatsapp.net`,
            message_id: id,
            action: starred ? 'starred' : 'unstarred',
          },
        ],
      );
      const event = await pipeline.event(
        instance,
        'message.starred',
        (data) => data.message_ids[0] === id && data.starred === starred,
      );
      assert.deepEqual(eventPayloads['message.starred'].parse(event.data), event.data);
      const [own] = await pipeline.shown(instance.phone, phone);
      assert.equal(own.starred, starred);
      assert.equal((await pipeline.shown(phone))[0].starred, false);
    }
    const group = await post('/messages/star', { chat_jid: '1203630@g.us', message_id: 'A1', starred: true });
    assert.deepEqual([group.status, group.code], [400, 'MISSING_FIELD']);
  });
});

describe('actions that cannot be done', () => {
  const body = { chat_jid: '5511999990000', message_id: 'A1', starred: true };

  for (const [state, code] of [
    ['DISCONNECTED', 'INSTANCE_NOT_CONNECTED'],
    ['BANNED', 'INSTANCE_BANNED'],
    ['HARD_PAUSED', 'INSTANCE_HARD_PAUSED'],
  ] as const) {
    test(`answer 409 ${code} while the instance is ${state}`, async () => {
      const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, { state });
      const answer = await pipeline.call({ ...instance, id }, 'POST', '/messages/star', body);
      assert.deepEqual([answer.status, answer.body.error_code], [409, code]);
    });
  }

  test('answer 503 with Retry-After when the session is not there', async () => {
    // Connected by its row, without a network session.
    const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, { state: 'CONNECTED' });
    const answer = await pipeline.call({ ...instance, id }, 'POST', '/messages/star', body);
    assert.deepEqual([answer.status, answer.body.error_code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  });
});
