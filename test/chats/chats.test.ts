import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { settled } from '../labels/label-state.ts';
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

async function ask(method: string, path: string, body?: unknown, of = instance) {
  const answer = await pipeline.call(of, method, path, body, { 'idempotency-key': '' });
  return { status: answer.status, code: answer.body?.error_code, body: answer.body };
}

const jidOf = (phone: string) => `${phone}@s.whatsapp.net`;

async function chatOf(phone: string, of = instance) {
  const { status, body } = await ask('GET', `/chats/${phone}`, undefined, of);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** A phone writes; resolves once the message has arrived. */
async function write(from: string, text: string, of = instance, more: object = {}): Promise<string> {
  const { id } = await pipeline.sandbox.post(`/phones/${from}/messages`, { to: of.phone, text, ...more });
  await settled(pipeline, of);
  return id;
}

describe('chats', () => {
  test('come from traffic: the writer, the number of unread messages, and the last message', async () => {
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone, name: 'Ana' });
    await write(phone, 'one');
    await write(phone, 'two');
    const received = await pipeline.event(
      instance,
      'message.received',
      ({ content }) => content.text === 'two',
    );
    const chat = await chatOf(phone);
    assert.deepEqual(chat, {
      chat_jid: jidOf(phone),
      type: 'user',
      phone,
      name: 'Ana',
      unread_count: 2,
      marked_unread: false,
      archived: false,
      pinned: false,
      muted: false,
      muted_until: null,
      window_until: null,
      labels: [],
      last_message: {
        message_id: received.data.message_ids[0],
        direction: 'inbound',
        type: 'text',
        preview: 'two',
        timestamp: received.data.timestamp,
      },
      updated_at: chat.updated_at,
    });
    const { message_id } = await pipeline.send(instance, '/messages/text', { to: phone, text: 'three' });
    await pipeline.event(instance, 'message.sent', ({ message_ids }) => message_ids[0] === message_id);
    const { unread_count, last_message } = await chatOf(phone);
    assert.deepEqual(
      [unread_count, last_message.message_id, last_message.direction, last_message.preview],
      [2, message_id, 'outbound', 'three'],
    );
  });

  test('a reaction is no message: it moves no chat and is not unread', async () => {
    const phone = pipeline.newPhone();
    const id = await write(phone, 'react to me');
    await write(phone, '', instance, { type: 'reaction', message_id: id, emoji: '👍' });
    const { unread_count, last_message } = await chatOf(phone);
    assert.deepEqual([unread_count, last_message.type], [1, 'text']);
  });

  test('auto_read reads at once: nothing is unread', async () => {
    const reading = await pipeline.connect({ auto_read: true });
    const phone = pipeline.newPhone();
    await write(phone, 'one', reading);
    await write(phone, 'two', reading);
    assert.equal((await chatOf(phone, reading)).unread_count, 0);
    await waitFor(async () => (await pipeline.shown(phone)).every(({ status }) => status === 'read'));
  });

  test('a group is a chat of its own type', async () => {
    const phone = pipeline.newPhone();
    const group = await pipeline.sandbox.post('/groups', {
      name: 'G',
      participants: [phone, instance.phone],
    });
    await write(phone, 'to all', instance, { to: group.jid });
    const chat = await chatOf(group.jid);
    assert.deepEqual([chat.type, chat.phone, chat.unread_count], ['group', '', 1]);
  });

  test('are found by any spelling, and those that are not there answer 404', async () => {
    const phone = pipeline.newPhone();
    await write(phone, 'hi');
    for (const spelling of [phone, `+${phone}`, jidOf(phone), jidOf(phone).toUpperCase()]) {
      const found = await ask('GET', `/chats/${encodeURIComponent(spelling)}`);
      assert.equal(found.body.chat_jid, jidOf(phone), spelling);
    }
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['POST', '/read', {}],
      ['POST', '/archive', { archived: true }],
      ['POST', '/pin', { pinned: true }],
      ['POST', '/mute', {}],
    ] as const) {
      for (const nobody of ['5511900000000', '12', 'nobody@nowhere']) {
        const answer = await ask(method, `/chats/${nobody}${path}`, body);
        assert.deepEqual([answer.status, answer.code], [404, 'NOT_FOUND'], `${method} ${nobody}${path}`);
      }
    }
  });

  test('give their names to their messages, also to older ones, and so do writers', async () => {
    const [ana, group] = [pipeline.newPhone(), 'Family'];
    await pipeline.sandbox.post('/phones', { phone: ana, name: 'ana ✨' });
    const participants = [ana, instance.phone];
    const { jid } = await pipeline.sandbox.post('/groups', { name: group, participants });
    const unknown = pipeline.newPhone();
    await pipeline.send(instance, '/messages/text', { to: unknown, text: 'from us' });
    await write(ana, 'alone');
    await write(ana, 'to all', instance, { to: jid });
    const namesOf = async (chat: string) => {
      const { body } = await ask('GET', `/messages?chat_jid=${encodeURIComponent(chat)}`);
      const [message] = body.data;
      const one = (await ask('GET', `/message/${message.message_id}`)).body;
      assert.deepEqual(one, message);
      return [message.chat_name, message.from_name];
    };
    assert.deepEqual(await namesOf(ana), ['ana ✨', 'ana ✨']);
    assert.deepEqual(await namesOf(jid), [group, 'ana ✨']);
    assert.deepEqual(await namesOf(unknown), ['', null]);
    await pipeline.sandbox.post(`/phones/${instance.phone}/contacts`, { add: [ana], name: 'Ana Souza' });
    await waitFor(async () => (await chatOf(ana)).name === 'Ana Souza');
    assert.deepEqual(await namesOf(ana), ['Ana Souza', 'Ana Souza']);
    assert.deepEqual(await namesOf(jid), [group, 'Ana Souza']);
  });

  test('are changed while the instance is connected', async () => {
    const { db } = pipeline.api.parts;
    const { companyId } = pipeline.company;
    const id = await seedInstance(db, companyId, { state: 'DISCONNECTED' });
    await db.query(
      `INSERT INTO chats (instance_id, company_id, chat_jid, active_at, updated_at)
       VALUES ($1, $2, '5511900000000@s.whatsapp.net', now(), now())`,
      [id, companyId],
    );
    const away = { id, phone: '', jid: '' };
    assert.equal((await ask('GET', '/chats/5511900000000', undefined, away)).status, 200);
    for (const [path, body] of [
      ['/read', {}],
      ['/archive', { archived: true }],
      ['/pin', { pinned: true }],
      ['/mute', {}],
    ] as const) {
      const answer = await ask('POST', `/chats/5511900000000${path}`, body, away);
      assert.deepEqual([answer.status, answer.code], [409, 'INSTANCE_NOT_CONNECTED'], path);
    }
  });
});

describe('reading a chat', () => {
  test('resets the unread count, here and on the phone, and notifies the senders', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    for (const text of ['one', 'two', 'three']) await write(phone, text, own);
    assert.equal((await chatOf(phone, own)).unread_count, 3);
    const read = await ask('POST', `/chats/${phone}/read`, {}, own);
    assert.deepEqual([read.status, read.body.unread_count], [200, 0]);
    const shown = await pipeline.shown(phone);
    assert.deepEqual(
      shown.map(({ status }) => status),
      ['read', 'read', 'read'],
    );
    assert.equal((await pipeline.sandbox.get(`/phones/${own.phone}`)).unread, 0);
    await settled(pipeline, own);
    await write(phone, 'four', own);
    assert.equal(
      (await chatOf(phone, own)).unread_count,
      1,
      'the echo takes nothing with it that came later',
    );
  });

  test('sends receipts for the unread messages, also when another one arrives in the middle', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    for (const text of ['one', 'two']) await write(phone, text, own);
    const { db } = pipeline.api.parts;
    const query = db.query as (text: unknown, values?: unknown[]) => Promise<never>;
    db.query = async (text: unknown, values?: unknown[]) => {
      // Right before the query for the unread messages.
      if (String(text).includes('poll_vote')) {
        db.query = query;
        await write(phone, 'three', own);
      }
      return query(text, values);
    };
    const read = await ask('POST', `/chats/${phone}/read`, {}, own);
    assert.equal(read.status, 200);
    assert.equal(db.query, query, 'it did arrive');
    await settled(pipeline, own);
    const unread = (await chatOf(phone, own)).unread_count;
    assert.deepEqual(
      (await pipeline.shown(phone)).map(({ status }) => status === 'read'),
      ['one', 'two', 'three'].map((_, nth) => nth < 3 - unread),
    );
  });

  test('marks it as unread, and as read again', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    await write(phone, 'one', own);
    await ask('POST', `/chats/${phone}/read`, { read: true }, own);
    const unread = await ask('POST', `/chats/${phone}/read`, { read: false }, own);
    assert.deepEqual([unread.body.unread_count, unread.body.marked_unread], [0, true]);
    const listed = await ask('GET', '/chats?unread=true', undefined, own);
    assert.deepEqual(
      listed.body.data.map(({ chat_jid }: { chat_jid: string }) => chat_jid),
      [jidOf(phone)],
    );
    await settled(pipeline, own);
    assert.equal((await chatOf(phone, own)).marked_unread, true);
    await ask('POST', `/chats/${phone}/read`, {}, own);
    await settled(pipeline, own);
    assert.equal((await chatOf(phone, own)).marked_unread, false);
  });

  test('on the phone arrives', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    await write(phone, 'one', own);
    await pipeline.sandbox.post(`/phones/${own.phone}/read`, { chat: phone });
    await settled(pipeline, own);
    assert.equal((await chatOf(phone, own)).unread_count, 0);
  });
});

describe('archiving, pinning and muting', () => {
  async function statesOnPhone(own: TestInstance, phone: string) {
    return (await pipeline.sandbox.get(`/phones/${own.phone}/chats`)).chats[jidOf(phone)] ?? {};
  }

  test('change the chat here at once and on the phone, and the echo changes nothing more', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    await write(phone, 'hi', own);
    for (const [path, body, field, value] of [
      ['/archive', { archived: true }, 'archived', true],
      ['/archive', { archived: false }, 'archived', false],
      ['/pin', { pinned: true }, 'pinned', true],
      ['/pin', { pinned: false }, 'pinned', false],
    ] as const) {
      const answer = await ask('POST', `/chats/${phone}${path}`, body, own);
      assert.deepEqual([answer.status, answer.body[field]], [200, value], path);
      assert.equal((await statesOnPhone(own, phone))[field], value);
      await settled(pipeline, own);
      assert.equal((await chatOf(phone, own))[field], value);
    }
  });

  test('muting has an end, a length, or neither', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    await write(phone, 'hi', own);
    const mute = (body: object) => ask('POST', `/chats/${phone}/mute`, body, own);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const timed = await mute({ until });
    assert.deepEqual([timed.body.muted, timed.body.muted_until], [true, until]);
    assert.equal((await statesOnPhone(own, phone)).mutedUntil, Date.parse(until));
    const long = await mute({ duration_seconds: 60 });
    assert.ok(Math.abs(Date.parse(long.body.muted_until) - Date.now() - 60_000) < 10_000);
    const endless = await mute({});
    assert.deepEqual([endless.body.muted, endless.body.muted_until], [true, null]);
    const off = await mute({ muted: false });
    assert.deepEqual([off.body.muted, off.body.muted_until], [false, null]);
    await settled(pipeline, own);
    assert.equal((await chatOf(phone, own)).muted, false);
    for (const body of [
      { until: new Date(Date.now() - 1000).toISOString() },
      { until: 'tomorrow' },
      { until, duration_seconds: 60 },
      { duration_seconds: 0 },
      { duration_seconds: 366 * 86_400 + 1 },
      { muted: false, duration_seconds: 60 },
    ]) {
      const answer = await mute(body);
      assert.deepEqual([answer.status, answer.code], [400, 'BAD_REQUEST'], JSON.stringify(body));
    }
  });

  test('a fourth pinned chat is 409 CONFLICT', async () => {
    const own = await pipeline.connect();
    const phones = Array.from({ length: 4 }, () => pipeline.newPhone());
    for (const phone of phones) await write(phone, 'hi', own);
    const answers = [];
    for (const phone of phones) answers.push(await ask('POST', `/chats/${phone}/pin`, { pinned: true }, own));
    assert.deepEqual(
      answers.map(({ status, code }) => [status, code]),
      [...Array.from({ length: 3 }, () => [200, undefined]), [409, 'CONFLICT']],
    );
    assert.equal((await chatOf(phones[3]!, own)).pinned, false);
  });

  test('on the phone arrive, each by its own revision', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    await write(phone, 'hi', own);
    const onPhone = (body: object) =>
      pipeline.sandbox.post(`/phones/${own.phone}/chat`, { chat: phone, ...body });
    await onPhone({ archived: true, muted_until: 0 });
    await onPhone({ pinned: true });
    await settled(pipeline, own);
    const { archived, pinned, muted, muted_until } = await chatOf(phone, own);
    assert.deepEqual([archived, pinned, muted, muted_until], [true, true, true, null]);
    await onPhone({ archived: false, muted_until: null });
    await settled(pipeline, own);
    const later = await chatOf(phone, own);
    assert.deepEqual([later.archived, later.pinned, later.muted], [false, true, false]);
  });

  test('changed on the API and on the phone at once, both sides end equal', async () => {
    const own = await pipeline.connect();
    const phone = pipeline.newPhone();
    await write(phone, 'hi', own);
    for (let round = 0; round < 30; round++) {
      const archived = round % 2 === 0;
      await Promise.all([
        ask('POST', `/chats/${phone}/archive`, { archived }, own),
        ask('POST', `/chats/${phone}/pin`, { pinned: !archived }, own),
        pipeline.sandbox.post(`/phones/${own.phone}/chat`, { chat: phone, archived: !archived }),
        pipeline.sandbox.post(`/phones/${own.phone}/chat`, { chat: phone, pinned: archived }),
      ]);
      await settled(pipeline, own);
      const here = await chatOf(phone, own);
      const there = await statesOnPhone(own, phone);
      assert.deepEqual([here.archived, here.pinned], [there.archived, there.pinned], `round ${round}`);
    }
  });
});

describe('the list of chats', () => {
  let own: TestInstance;
  let phones: string[];
  before(async () => {
    own = await pipeline.connect();
    phones = Array.from({ length: 7 }, () => pipeline.newPhone());
    for (const phone of phones) await write(phone, `from ${phone}`, own);
    const { label_id } = (await ask('POST', '/labels', { name: 'VIP', color: 1 }, own)).body;
    for (const at of [1, 3]) await ask('POST', `/chats/${phones[at]}/labels/${label_id}`, undefined, own);
    for (const at of [2, 3]) await ask('POST', `/chats/${phones[at]}/archive`, { archived: true }, own);
    await ask('POST', `/chats/${phones[0]}/read`, {}, own);
  });

  async function list(query: string): Promise<string[]> {
    const found: string[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor ? `&before=${cursor}` : '';
      const { status, body } = await ask('GET', `/chats?limit=2${query}${more}`, undefined, own);
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(body.data.length <= 2);
      found.push(...body.data.map((chat: { phone: string }) => chat.phone));
      cursor = body.next_cursor;
    } while (cursor);
    return found;
  }

  test('goes by the latest activity, page by page, each chat once', async () => {
    assert.deepEqual(await list(''), phones.toReversed());
  });

  test('is filtered by archived, unread and label, alone and together', async () => {
    const at = (...places: number[]) => places.map((place) => phones[place]);
    assert.deepEqual(await list('&archived=true'), at(3, 2));
    assert.deepEqual(await list('&archived=false'), at(6, 5, 4, 1, 0));
    assert.deepEqual(await list('&unread=true'), at(6, 5, 4, 3, 2, 1));
    assert.deepEqual(await list('&unread=false'), at(0));
    assert.deepEqual(await list('&label=1'), at(3, 1));
    assert.deepEqual(await list('&label=1&archived=true'), at(3));
    assert.deepEqual(await list('&label=2'), []);
    const [first] = (await ask('GET', '/chats?label=1', undefined, own)).body.data;
    assert.deepEqual(first.labels, ['1']);
  });

  test('refuses cursors and filters that are none', async () => {
    for (const query of ['before=nonsense', 'before=WyJhIiwiYiJd', 'limit=0', 'archived=maybe', 'label=']) {
      const answer = await ask('GET', `/chats?${query}`, undefined, own);
      assert.deepEqual([answer.status, answer.code], [400, 'BAD_REQUEST'], query);
    }
  });
});

test('chats, contacts and labels go with their instance', async () => {
  const own = await pipeline.connect();
  const phone = pipeline.newPhone();
  await write(phone, 'hi', own);
  await ask('POST', '/labels', { name: 'VIP', color: 1 }, own);
  await ask('POST', `/chats/${phone}/labels/1`, undefined, own);
  assert.equal((await ask('DELETE', '', undefined, own)).status, 204);
  for (const table of ['chats', 'contacts', 'labels', 'label_links', 'device_syncs']) {
    const { rows } = await pipeline.api.parts.db.query(`SELECT 1 FROM ${table} WHERE instance_id = $1`, [
      own.id,
    ]);
    assert.equal(rows.length, 0, table);
  }
});
