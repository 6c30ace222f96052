import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventPayloads } from '@posthorn/contract/events.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';
import { waitFor } from '../support/process.ts';
import { type LoggedEvent, type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { FRIEND, jid, message, POISON } from './poison-table.ts';

let pipeline: Sending;
let instance: TestInstance;
before(async () => {
  pipeline = await startSending({ env: { HTTP_TIMEOUT: '2' } });
  instance = await pipeline.connect();
});
after(() => pipeline.close());

async function receivedIn(chat: string): Promise<LoggedEvent[]> {
  const found = await pipeline.api.parts.db.query<LoggedEvent>(
    `SELECT event_id, type, data FROM events
     WHERE instance_id = $1 AND type = 'message.received' AND data->>'chat' = $2 ORDER BY tx, id`,
    [instance.id, chat],
  );
  return found.rows;
}

async function account() {
  const { accounts } = await pipeline.sandbox.get('/sessions');
  return accounts.find((each: { phone: string }) => each.phone === instance.phone);
}

const acknowledged = () =>
  waitFor(async () => (await account()).unacked_events === 0, 60_000, { what: 'everything is acknowledged' });

describe('poison in received messages', () => {
  test('costs itself alone: each of the table between two good messages, and the session lives', async () => {
    // A request that needs only the process: a busy database on a busy machine would prove nothing here.
    const target = { url: `${pipeline.api.url}/v1/instances`, expect: 401 };
    const other = await pipeline.connect();
    const friend = pipeline.newPhone();
    // All of it comes at once, so that good and bad messages are in the same batches.
    await pipeline.sandbox.post('/phones', { phone: FRIEND, name: 'Ana' });
    await pipeline.sandbox.post('/faults', { kind: 'offline', account: instance.phone });
    await pipeline.sandbox.post(`/phones/${FRIEND}/messages`, {
      to: instance.phone,
      id: 'GOOD',
      text: 'good 0',
    });
    const events: { what: string; id: unknown }[] = [];
    for (const [what, { event }] of Object.entries(POISON)) {
      const made = event();
      events.push({ what, id: (made as { id?: unknown }).id });
      await pipeline.sandbox.post('/events', { account: instance.phone, event: made });
      const text = `good ${events.length}`;
      await pipeline.sandbox.post(`/phones/${FRIEND}/messages`, { to: instance.phone, text });
    }
    const { result: loginsBefore, probed } = await probeWhile(target, async () => {
      await pipeline.sandbox.call('DELETE', '/faults?kind=offline');
      await waitFor(async () => (await account()).live === 1, 60_000, { what: 'the session is back' });
      const { logins } = await account();
      for (let i = 0; i < 5; i += 1) {
        await pipeline.send(other, '/messages/text', { to: friend, text: `sent ${i}` });
        await pipeline.sandbox.post(`/phones/${friend}/messages`, { to: other.phone, text: `received ${i}` });
      }
      await pipeline.event(other, 'message.received', ({ content }) => content.text === 'received 4');
      await pipeline.event(other, 'message.sent');
      await acknowledged();
      return logins as number;
    });

    const good = (await receivedIn(jid(FRIEND)))
      .map(({ data }) => data.content.text)
      .filter((text) => typeof text === 'string' && /^good \d+$/.test(text));
    assert.deepEqual(good, ['good 0', ...events.map((_, i) => `good ${i + 1}`)]);

    for (const { what, id } of events) {
      const found = await pipeline.api.parts.db.query(
        'SELECT id, incomplete_reason FROM messages WHERE instance_id = $1 AND network_id = $2',
        [instance.id, typeof id === 'string' && id.startsWith('POISON') ? id : 'none'],
      );
      assert.equal(found.rows.length, POISON[what]!.told ? 1 : 0, what);
      if (!POISON[what]!.told) continue;
      assert.equal(found.rows[0]!.incomplete_reason, POISON[what]!.reason ?? null, what);
      const [received] = await pipeline.eventsOf(found.rows[0]!.id);
      assert.deepEqual(eventPayloads['message.received'].parse(received!.data), received!.data, what);
      assert.equal(received!.data.incomplete_reason, POISON[what]!.reason, what);
      const read = await pipeline.call(instance, 'GET', `/message/${found.rows[0]!.id}`);
      assert.equal(read.status, 200, what);
      assert.equal(read.body.media_id, null, what);
    }
    const { live, logins } = await account();
    assert.deepEqual([live, logins], [1, loginsBefore], 'the session was never lost');
    assert.equal((await pipeline.api.parts.db.query('SELECT 1 FROM work_tries')).rowCount, 0);
    assertUnhurt(probed, 'poison in what arrives');
  });

  test('many in one batch cost each itself alone', async () => {
    const phone = pipeline.newPhone();
    for (let i = 0; i < 20; i += 1) {
      const event = message({ chat: jid(phone), from: jid(phone), at: 1e20, content: { text: '\u0000' } });
      await pipeline.sandbox.post('/events', { account: instance.phone, event });
      await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: `good ${i}` });
    }
    await acknowledged();
    const texts = (await receivedIn(jid(phone))).map(({ data }) => data.content.text);
    assert.deepEqual(texts, Array.from({ length: 20 }, (_, i) => ['\ufffd', `good ${i}`]).flat());
  });
});

describe('a statement that refuses one message for no reason that anybody foresaw', () => {
  test('refuses it a few times, then it is recorded without its content, in its place', async () => {
    const { db } = pipeline.api.parts;
    await db.query(`
      CREATE FUNCTION refuse_cursed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.content->>'text' = 'cursed' THEN RAISE EXCEPTION 'cursed'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse_cursed BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION refuse_cursed()`);
    try {
      const phone = pipeline.newPhone();
      for (const text of ['before', 'cursed', 'after']) {
        await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text });
      }
      await acknowledged();
      const received = (await receivedIn(jid(phone))).map(({ data }) => [
        data.message_type,
        data.content.text,
        data.incomplete_reason,
      ]);
      assert.deepEqual(received, [
        ['text', 'before', undefined],
        ['unknown', undefined, 'content_unreadable'],
        ['text', 'after', undefined],
      ]);
      assert.equal((await db.query('SELECT 1 FROM work_tries')).rowCount, 0);
    } finally {
      await db.query('DROP TRIGGER refuse_cursed ON messages');
    }
  });
});

describe('media that is not available', () => {
  for (const how of ['hang', 'cut', 'error']) {
    test(`costs the message its media and nothing else: ${how}`, async () => {
      const phone = pipeline.newPhone();
      const send = (body: object) =>
        pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, ...body });
      await send({ text: 'before' });
      await pipeline.sandbox.post('/faults', { kind: 'break_media', how, account: instance.phone });
      try {
        await send({
          type: 'document',
          media_base64: Buffer.from('some text').toString('base64'),
          mime_type: 'text/plain',
          caption: 'broken',
        });
        await send({ text: 'after' });
        await acknowledged();
      } finally {
        await pipeline.sandbox.call('DELETE', '/faults?kind=break_media');
      }
      const received = (await receivedIn(jid(phone))).map(({ data }) => [
        data.content.text ?? data.content.caption,
        data.media_id,
        data.incomplete_reason,
      ]);
      assert.deepEqual(received, [
        ['before', undefined, undefined],
        ['broken', undefined, 'media_unavailable'],
        ['after', undefined, undefined],
      ]);
    });
  }
});

describe('poison in sent messages', () => {
  test('fails after a few tries, and messages accepted behind it go out', async () => {
    const { db } = pipeline.api.parts;
    const { logins } = await account();
    const phone = pipeline.newPhone();
    // A target that no accept writes: the dispatcher makes something of it that the network refuses.
    await db.query(`
      CREATE FUNCTION curse_task() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.operation = 'text' AND EXISTS (
          SELECT 1 FROM messages WHERE id = NEW.message_id AND content->>'text' = 'cursed'
        ) THEN
          UPDATE messages SET chat_jid = repeat('9', 200) || '@s.whatsapp.net' WHERE id = NEW.message_id;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER curse_task AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION curse_task()`);
    try {
      const cursed = await pipeline.send(instance, '/messages/text', { to: phone, text: 'cursed' });
      const behind = await pipeline.send(instance, '/messages/text', { to: phone, text: 'behind' });
      await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === behind.message_id);
      const failed = await pipeline.event(
        instance,
        'text.delivery_failed',
        (data) => data.message_ids[0] === cursed.message_id,
      );
      assert.equal(failed.data.reason, 'invalid_message');
      assert.equal((await account()).logins, logins);
    } finally {
      await db.query('DROP TRIGGER curse_task ON outbox');
    }
  });

  test('a task that fails for no known reason is tried five times', async () => {
    const phone = pipeline.newPhone();
    const { db } = pipeline.api.parts;
    const sent = await pipeline.send(instance, '/messages/text', { to: phone, text: 'first' });
    await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === sent.message_id);
    // The dispatcher reads a message that is no object, which throws.
    await db.query(`
      CREATE FUNCTION empty_content() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.content->>'text' = 'hollow' THEN NEW.content := 'null'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER empty_content BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION empty_content()`);
    try {
      const hollow = await pipeline.send(instance, '/messages/text', { to: phone, text: 'hollow' });
      const behind = await pipeline.send(instance, '/messages/text', { to: phone, text: 'behind' });
      await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === behind.message_id);
      const failed = await pipeline.event(
        instance,
        'text.delivery_failed',
        (data) => data.message_ids[0] === hollow.message_id,
      );
      assert.deepEqual([failed.data.reason, failed.data.wire_state], ['send_failed', 'unknown']);
    } finally {
      await db.query('DROP TRIGGER empty_content ON messages');
    }
  });
});
