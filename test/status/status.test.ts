import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { eventPayloads, isEventType } from '@posthorn/contract/events.ts';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import { recordStatusFacts } from '@posthorn/core/status/record-status.ts';
import { gif, webp } from '../media/samples.ts';
import { withRole } from '../server/seed-ids.ts';
import { waitFor } from '../support/process.ts';
import { type LoggedEvent, type Sending, startSending, type TestInstance } from '../support/sending.ts';

const STATUS = 'status@broadcast';

let pipeline: Sending;
let instance: TestInstance;
/** The instance and this phone have saved each other. */
let friend: string;

before(async () => {
  pipeline = await startSending();
});
after(() => pipeline.close());
beforeEach(async () => {
  instance = await pipeline.connect();
  friend = pipeline.newPhone();
  await pipeline.sandbox.post(`/phones/${instance.phone}/contacts`, { add: [friend], mutual: true });
});

const hexOf = (id: string) => id.replaceAll('-', '').toUpperCase();

function documented({ type, data }: LoggedEvent): void {
  assert.ok(isEventType(type));
  assert.deepEqual(eventPayloads[type].parse(data), data, `${type} as documented`);
}

async function post(text = 'news'): Promise<string> {
  const { message_id: id } = await pipeline.send(instance, '/messages/status/text', { text });
  await pipeline.event(instance, 'message.sent', (data) => data.message_ids[0] === id);
  return id;
}

/** A status of a friend, as it arrived. */
async function received(text = 'their news') {
  const posted = await pipeline.sandbox.post(`/phones/${friend}/messages`, { to: 'status', text });
  const event = await pipeline.event(
    instance,
    'status.received',
    (data) => data.status_message_id === posted.id,
  );
  return { id: posted.id as string, event };
}

describe('posting a status', () => {
  test('reaches the audience with its colours, and causes events of the family status_text', async () => {
    const key = randomUUID();
    const body = { text: 'news', background_color: '#00FF7f', font: 6 };
    const answer = await pipeline.send(instance, '/messages/status/text', body, { 'idempotency-key': key });
    const sent = await pipeline.event(instance, 'message.sent');
    documented(sent);
    assert.deepEqual(
      [sent.data.message_ids[0], sent.data.message_type, sent.data.idempotency_key, sent.data.chat],
      [answer.message_id, 'status_text', key, STATUS],
    );
    const [shown] = await pipeline.shown(friend, STATUS);
    assert.deepEqual([shown.id, shown.content], [hexOf(answer.message_id), body]);
    const item = await pipeline.call(instance, 'GET', `/status/${answer.message_id}`);
    assert.deepEqual(
      { ...item.body, posted_at: '' },
      {
        status_message_id: answer.message_id,
        direction: 'outbound',
        phone: '',
        type: 'text',
        content: 'news',
        media_id: '',
        posted_at: '',
      },
    );
  });

  test('skips the guard, and passive mode stops it', async () => {
    const guarded = await pipeline.connect({ anti_spam_guard_enabled: true });
    for (let i = 0; i < 6; i += 1)
      await pipeline.send(guarded, '/messages/status/text', { text: 'the same' });
    await pipeline.call(guarded, 'PATCH', '/settings', { passive_mode_enabled: true });
    const refused = await pipeline.call(guarded, 'POST', '/messages/status/text', { text: 'x' });
    assert.deepEqual([refused.status, refused.body.error_code], [409, 'PASSIVE_MODE_ENABLED']);
    await pipeline.send(guarded, '/messages/status/text', { text: 'x' }, { 'x-force-send': 'true' });
  });

  test('in a wrong shape is 400', async () => {
    for (const body of [
      {},
      { text: '' },
      { text: 'x', background_color: 'red' },
      { text: 'x', background_color: '#12345' },
      { text: 'x', font: 3 },
    ]) {
      assert.equal((await pipeline.call(instance, 'POST', '/messages/status/text', body)).status, 400);
    }
    const missing = await pipeline.api.call('POST', `/v1/instances/${instance.id}/messages/status/text`, {
      key: pipeline.company.apiKey,
      body: { text: 'x' },
    });
    assert.equal(missing.body.error_code, 'IDEMPOTENCY_KEY_REQUIRED');
  });
});

describe('views', () => {
  test('cause it once for a contact who views under an anonymous id and under the number', async () => {
    const id = await post();
    const { parts } = pipeline.api;
    const { rows } = await parts.db.query<Lease>(
      'SELECT s.shard, s.epoch FROM instances i JOIN shards s ON s.shard = i.shard WHERE i.id = $1',
      [instance.id],
    );
    const scope = { companyId: pipeline.company.companyId, instanceId: instance.id, lease: rows[0]! };
    const [lid, phone] = ['160000000000999@lid', pipeline.newPhone()];
    const view = (from: string, receipt: 'read' | 'played') =>
      recordStatusFacts(parts, scope, [
        { kind: 'viewed', statusId: hexOf(id), from, at: new Date(), receipt },
      ]);
    await view(lid, 'read');
    await recordLids(parts, scope, [{ lid, phone }]);
    await view(`${phone}@s.whatsapp.net`, 'read');
    await view(`${phone}@s.whatsapp.net`, 'played');
    await view(lid, 'played');
    const told = await parts.db.query<LoggedEvent>(
      `SELECT data FROM events WHERE instance_id = $1 AND type = 'status.viewed' ORDER BY tx, id`,
      [instance.id],
    );
    assert.deepEqual(
      told.rows.map(({ data }) => [data.from, data.receipt_type]),
      [
        [lid, 'read'],
        [`${phone}@s.whatsapp.net`, 'played'],
      ],
    );
  });

  test('cause status.viewed, once a contact, and are listed', async () => {
    const id = await post();
    const none = await pipeline.call(instance, 'GET', `/status/${id}/views`);
    assert.deepEqual(none.body, { status_message_id: id, count: 0, viewers: [] });
    await pipeline.sandbox.post('/faults', { kind: 'repeat_events', instance: instance.id });
    assert.deepEqual(await pipeline.sandbox.post(`/phones/${friend}/view-status`, {}), { viewed: 1 });
    const viewed = await pipeline.event(instance, 'status.viewed');
    await pipeline.sandbox.call('DELETE', '/faults');
    documented(viewed);
    assert.deepEqual(
      { ...viewed.data, timestamp: 0 },
      {
        phone: friend,
        from: `${friend}@s.whatsapp.net`,
        status_message_id: id,
        status_type: 'text',
        receipt_type: 'read',
        timestamp: 0,
      },
    );
    for (const ref of [id, hexOf(id)]) {
      const views = await pipeline.call(instance, 'GET', `/status/${ref}/views`);
      assert.equal(views.body.count, 1);
      const [{ viewed_at, ...viewer }] = views.body.viewers;
      assert.ok(Date.parse(viewed_at));
      assert.deepEqual(viewer, { phone: friend, jid: `${friend}@s.whatsapp.net`, receipt_type: 'read' });
    }
    const all = await pipeline.api.parts.db.query(
      `SELECT 1 FROM events WHERE instance_id = $1 AND type = 'status.viewed'`,
      [instance.id],
    );
    assert.equal(all.rows.length, 1);
  });
});

describe('a response of the audience', () => {
  test('is status.reaction and no message, for a reaction and its removal', async () => {
    const id = await post();
    for (const emoji of ['🔥', '']) {
      await pipeline.sandbox.post(`/phones/${friend}/messages`, {
        to: instance.phone,
        type: 'reaction',
        message_id: hexOf(id),
        emoji,
      });
      const event = await pipeline.event(instance, 'status.reaction', (data) => data.emoji === emoji);
      documented(event);
      assert.deepEqual(
        [event.data.status_message_id, event.data.status_type, event.data.removed, event.data.phone],
        [id, 'text', emoji === '', friend],
      );
    }
    const messages = await pipeline.call(instance, 'GET', '/messages?direction=inbound');
    assert.deepEqual(messages.body.data, []);
  });

  test('is status.reply together with message.received, for an answer', async () => {
    const id = await post();
    const reply = await pipeline.sandbox.post(`/phones/${friend}/messages`, {
      to: instance.phone,
      text: 'nice',
      status_id: hexOf(id),
    });
    const event = await pipeline.event(instance, 'status.reply');
    documented(event);
    assert.deepEqual(
      [
        event.data.status_message_id,
        event.data.status_type,
        event.data.reply_message_id,
        event.data.reply_type,
        event.data.content,
      ],
      [id, 'text', reply.id, 'text', 'nice'],
    );
    const direct = await pipeline.event(instance, 'message.received');
    assert.deepEqual(direct.data.content, { text: 'nice' });
  });
});

describe('statuses of others', () => {
  test('arrive as status.received, and in the feed', async () => {
    const { id, event } = await received();
    documented(event);
    assert.deepEqual(
      { ...event.data, timestamp: 0 },
      {
        phone: friend,
        from: `${friend}@s.whatsapp.net`,
        status_message_id: id,
        type: 'text',
        content: 'their news',
        timestamp: 0,
      },
    );
    assert.ok(Number.isInteger(event.data.timestamp));
    const item = await pipeline.call(instance, 'GET', `/status/${id}`);
    assert.deepEqual(
      [item.body.direction, item.body.phone, item.body.content],
      ['inbound', friend, 'their news'],
    );
    const stored = await pipeline.api.parts.db.query('SELECT 1 FROM messages WHERE instance_id = $1', [
      instance.id,
    ]);
    assert.equal(stored.rows.length, 0);
  });

  test('that are GIFs are told as videos and stickers as images, also when the account posts them on its phone', async () => {
    const bytes = { gif: await gif(), sticker: await webp() };
    const mimes = { gif: 'image/gif', sticker: 'image/webp' };
    const post = (phone: string, type: 'gif' | 'sticker') =>
      pipeline.sandbox.post(`/phones/${phone}/messages`, {
        ...{ to: 'status', type, mime_type: mimes[type] },
        ...{ media_base64: bytes[type].toString('base64') },
      });
    for (const [sent, told] of [
      ['gif', 'video'],
      ['sticker', 'image'],
    ] as const) {
      const theirs = await post(friend, sent);
      const received = await pipeline.event(
        instance,
        'status.received',
        (data) => data.status_message_id === theirs.id,
      );
      documented(received);
      assert.equal(received.data.type, told);
      const inbound = await pipeline.call(instance, 'GET', `/status/${theirs.id}`);
      assert.deepEqual(
        [inbound.body.direction, inbound.body.type, inbound.body.media_id],
        ['inbound', told, received.data.media_id],
      );
      const ours = await post(instance.phone, sent);
      const posted = await pipeline.event(
        instance,
        'message.sent',
        (data) => data.message_type === `status_${told}`,
      );
      documented(posted);
      const outbound = await pipeline.call(instance, 'GET', `/status/${ours.id}`);
      assert.deepEqual([outbound.body.direction, outbound.body.type], ['outbound', told]);
    }
  });

  test('reach nobody who has not saved the author, or whom the author excludes', async () => {
    const stranger = pipeline.newPhone();
    await pipeline.sandbox.post(`/phones/${stranger}/contacts`, { add: [instance.phone] });
    await pipeline.sandbox.post(`/phones/${stranger}/messages`, { to: 'status', text: 'unseen' });
    const shutOut = { phone: friend, status_privacy: { type: 'blacklist', list: [instance.phone] } };
    await pipeline.sandbox.post('/phones', shutOut);
    await pipeline.sandbox.post(`/phones/${friend}/messages`, { to: 'status', text: 'unseen' });
    await pipeline.sandbox.post('/phones', { phone: friend, status_privacy: { type: 'contacts' } });
    await received('seen');
    const feed = await pipeline.call(instance, 'GET', '/status?direction=inbound');
    assert.deepEqual(
      feed.body.data.map((item: { content: string }) => item.content),
      ['seen'],
    );
  });

  test('leave the feed when their author deletes them', async () => {
    const { id } = await received();
    await pipeline.sandbox.post(`/phones/${friend}/messages`, {
      to: 'status',
      type: 'delete',
      message_id: id,
    });
    await waitFor(async () => (await pipeline.call(instance, 'GET', `/status/${id}`)).status === 404);
  });

  test('stay away, and are told once, when the network repeats them after their deletion', async () => {
    const { id } = await received('gone soon');
    await pipeline.sandbox.post(`/phones/${friend}/messages`, {
      to: 'status',
      type: 'delete',
      message_id: id,
    });
    await waitFor(async () => (await pipeline.call(instance, 'GET', `/status/${id}`)).status === 404);
    const from = `${friend}@s.whatsapp.net`;
    const post = { k: 'message', chat: STATUS, from, name: '', type: 'text', content: { text: 'gone soon' } };
    const event = { ...post, id, at: Date.now() };
    await pipeline.sandbox.post('/events', { account: instance.phone, event });
    await received('behind it');
    assert.equal((await pipeline.call(instance, 'GET', `/status/${id}`)).status, 404);
    const { rows } = await pipeline.api.parts.db.query(
      `SELECT 1 FROM events WHERE type = 'status.received' AND data->>'status_message_id' = $1`,
      [id],
    );
    assert.equal(rows.length, 1);
  });
});

describe('replying to a status', () => {
  test('is a direct message that quotes it, causes status.reply_sent and is kept in the feed', async () => {
    const { id } = await received();
    const answer = await pipeline.send(instance, `/status/${id}/reply`, {
      poster_phone: friend,
      text: 'wow',
    });
    const event = await pipeline.event(instance, 'status.reply_sent');
    documented(event);
    assert.deepEqual(
      { ...event.data, timestamp: 0 },
      {
        chat: `${friend}@s.whatsapp.net`,
        phone: friend,
        status_message_id: id,
        type: 'text',
        timestamp: 0,
      },
    );
    const sent = await pipeline.event(instance, 'message.sent');
    assert.deepEqual([sent.data.message_ids[0], sent.data.message_type], [answer.message_id, 'text']);
    const shown = (await pipeline.shown(friend, instance.phone)).at(-1);
    assert.deepEqual([shown.text, shown.quoted_id, shown.status_id], ['wow', id, id]);
    const outbound = await pipeline.call(instance, 'GET', '/status?direction=outbound');
    assert.deepEqual([outbound.body.total, outbound.body.data[0].content], [1, 'wow']);
  });

  test('is changed in the feed with its message, and leaves it with its message', async () => {
    const { id } = await received();
    const { message_id: reply } = await pipeline.send(instance, `/status/${id}/reply`, {
      poster_phone: friend,
      text: 'wow',
    });
    const { id: typed } = await pipeline.sandbox.post(`/phones/${instance.phone}/messages`, {
      ...{ to: friend, text: 'from the phone', status_id: id },
    });
    const feed = async () => {
      const { body } = await pipeline.call(instance, 'GET', '/status?direction=outbound');
      return body.data.map((item: { content: string }) => item.content);
    };
    await waitFor(async () => (await feed()).length === 2 || undefined);
    const change = (method: string, path: string, body: object) =>
      pipeline.call(instance, method, path, body, { 'idempotency-key': randomUUID() });
    assert.equal((await change('PUT', `/messages/${reply}/edit`, { content: 'well' })).status, 202);
    await pipeline.event(instance, 'message.edited');
    assert.deepEqual((await feed()).sort(), ['from the phone', 'well']);
    for (const one of [reply, typed]) {
      const gone = await change('DELETE', `/messages/${one}`, { to: friend, message_id: one });
      assert.equal(gone.status, 202);
    }
    await waitFor(async () => (await feed()).length === 0 || undefined);
    assert.equal((await pipeline.call(instance, 'GET', `/status/${reply}`)).status, 404);
  });

  test('reaches another instance as status.reply', async () => {
    const author = await pipeline.connect();
    await pipeline.sandbox.post(`/phones/${author.phone}/contacts`, { add: [instance.phone], mutual: true });
    const { message_id: id } = await pipeline.send(author, '/messages/status/text', { text: 'ours' });
    const seen = await pipeline.event(instance, 'status.received');
    await pipeline.send(instance, `/status/${seen.data.status_message_id}/reply`, {
      poster_phone: author.phone,
      text: 'hello',
    });
    const reply = await pipeline.event(author, 'status.reply');
    assert.deepEqual([reply.data.status_message_id, reply.data.content], [id, 'hello']);
  });

  test('reaches only its author, and is refused for a status of the own account', async () => {
    const { id } = await received();
    const stranger = pipeline.newPhone();
    const own = await post();
    await waitFor(async () => (await pipeline.call(instance, 'GET', `/status/${own}`)).status === 200);
    const before = await pipeline.shown(stranger, instance.phone);
    const cases: [string, string, RegExp][] = [
      [id, stranger, /^poster_phone: /],
      [id, instance.phone, /^poster_phone: /],
      [own, friend, /your own/],
      [hexOf(own), instance.phone, /your own/],
    ];
    for (const [ref, poster, says] of cases) {
      const answer = await pipeline.call(instance, 'POST', `/status/${ref}/reply`, {
        poster_phone: poster,
        text: 'x',
      });
      assert.deepEqual([answer.status, answer.body.error_code], [400, 'BAD_REQUEST'], answer.text);
      assert.match(answer.body.message, says);
    }
    assert.deepEqual(await pipeline.shown(stranger, instance.phone), before);
    // The same phone in another spelling is still the poster.
    await pipeline.send(instance, `/status/${id}/reply`, { poster_phone: `+${friend}`, text: 'you' });
  });

  test('reaches the poster by phone when the network names only an anonymous id of theirs', async () => {
    const { id } = await received();
    const lid = '199000000000001@lid';
    const { db } = pipeline.api.parts;
    const byLid = [lid, instance.id, id];
    await db.query('UPDATE status_feed SET author_jid = $1 WHERE instance_id = $2 AND status_id = $3', byLid);
    const reply = (poster: string) =>
      pipeline.call(instance, 'POST', `/status/${id}/reply`, { poster_phone: poster, text: 'x' });
    assert.equal((await reply(friend)).status, 400);
    await db.query(
      `INSERT INTO lids (instance_id, lid, company_id, phone, learned_at) VALUES ($1, $2, $3, $4, now())`,
      [instance.id, lid, pipeline.company.companyId, friend],
    );
    assert.equal((await reply(friend)).status, 202);
    assert.equal((await reply(pipeline.newPhone())).status, 400);
  });

  test('needs a text, a known type, a phone and an existing status', async () => {
    const { id } = await received();
    const reply = (ref: string, body: object) =>
      pipeline.call(instance, 'POST', `/status/${ref}/reply`, body);
    const cases: [string, object, number, string][] = [
      [id, { text: 'x' }, 400, 'MISSING_FIELD'],
      [id, { poster_phone: friend }, 400, 'MISSING_FIELD'],
      [id, { poster_phone: 'nobody', text: 'x' }, 400, 'INVALID_PHONE'],
      [id, { poster_phone: `BR.${friend}`, text: 'x' }, 400, 'INVALID_PHONE'],
      [id, { poster_phone: friend, type: 'gif', text: 'x' }, 400, 'BAD_REQUEST'],
      [id, { poster_phone: friend, text: '' }, 400, 'MISSING_FIELD'],
      [id, { poster_phone: friend, type: 'image' }, 400, 'MISSING_FIELD'],
      [randomUUID(), { poster_phone: friend, text: 'x' }, 404, 'MESSAGE_NOT_FOUND'],
    ];
    for (const [ref, body, status, code] of cases) {
      const answer = await reply(ref, body);
      assert.deepEqual([answer.status, answer.body.error_code], [status, code], JSON.stringify(body));
    }
  });
});

describe('the feed and the privacy', () => {
  test('page newest first, capped at 100', async () => {
    for (let i = 0; i < 3; i += 1) await post(`news ${i}`);
    await received();
    const first = await pipeline.call(instance, 'GET', '/status?limit=2');
    assert.deepEqual([first.body.page, first.body.limit, first.body.total], [1, 2, 4]);
    assert.deepEqual(
      first.body.data.map((item: { content: string }) => item.content),
      ['their news', 'news 2'],
    );
    const second = await pipeline.call(instance, 'GET', '/status?limit=2&page=2');
    assert.deepEqual(
      second.body.data.map((item: { content: string }) => item.content),
      ['news 1', 'news 0'],
    );
    assert.equal((await pipeline.call(instance, 'GET', '/status?limit=1000')).body.limit, 100);
    assert.equal((await pipeline.call(instance, 'GET', '/status')).body.limit, 50);
    assert.equal((await pipeline.call(instance, 'GET', '/status?direction=sideways')).status, 400);
  });

  test('show who may see what this account posts, to owners and admins', async () => {
    await pipeline.sandbox.post('/phones', {
      phone: instance.phone,
      status_privacy: { type: 'whitelist', list: [friend] },
    });
    const answer = await pipeline.call(instance, 'GET', '/status/privacy');
    assert.deepEqual(answer.body, {
      status_privacy: [
        { type: 'contacts', list: [], is_default: false },
        { type: 'blacklist', list: [], is_default: false },
        { type: 'whitelist', list: [friend], is_default: true },
      ],
    });
    const agent = await withRole(pipeline.api.parts.db, pipeline.company, 'agent');
    for (const path of ['privacy', `${randomUUID()}/views`]) {
      const refused = await pipeline.api.call('GET', `/v1/instances/${instance.id}/status/${path}`, {
        key: agent.apiKey,
      });
      assert.equal(refused.body.error_code, 'INSUFFICIENT_PERMISSIONS');
    }
  });
});
