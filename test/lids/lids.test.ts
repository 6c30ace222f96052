import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
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

type Telling = 'at_once' | 'later' | 'never';

/** A phone under an anonymous id, in a group with the instance. */
async function stranger(tell: Telling) {
  const phone = pipeline.newPhone();
  const { lid } = await pipeline.sandbox.post('/phones', { phone, lid: tell });
  assert.match(lid, /^\d{15}@lid$/);
  const group = await pipeline.sandbox.post('/groups', { name: 'G', participants: [phone, instance.phone] });
  return { phone, lid: lid as string, group: group.jid as string };
}

const get = (path: string) => pipeline.call(instance, 'GET', path);
const say = (phone: string, to: string, text: string) =>
  pipeline.sandbox.post(`/phones/${phone}/messages`, { to, text });
const heard = (lid: string, text: string) =>
  pipeline.event(instance, 'message.received', (data) => data.from === lid && data.content.text === text);
const learnt = (lid: string) => waitFor(async () => (await get(`/lids/${lid}`)).status === 200 || undefined);

describe('a person whose phone the network reveals at once', () => {
  test('is named by the phone in every event, and by the anonymous id of the network', async () => {
    const { phone, lid, group } = await stranger('at_once');
    await say(phone, group, 'hello');
    const { data } = await heard(lid, 'hello');
    assert.deepEqual([data.phone, data.from, data.chat], [phone, lid, group]);
    assert.deepEqual((await get(`/lids/${lid}`)).body, { lid, phone });
    const { body } = await get(`/groups/${group}`);
    const [member] = body.participants.filter((one: { jid: string }) => one.jid === lid);
    assert.deepEqual(member, { jid: lid, phone, role: 'member' });
  });

  test('has the phone in receipts in groups too', async () => {
    const { phone, lid, group } = await stranger('at_once');
    const { message_id: id } = await pipeline.send(instance, '/messages/text', { to: group, text: 'all' });
    const { data } = await pipeline.event(
      instance,
      'message.delivered',
      (one) => one.message_ids[0] === id && one.from === lid,
    );
    assert.equal(data.phone, phone);
  });

  test('has the phone in edits, deletes and reactions too', async () => {
    const { phone, lid, group } = await stranger('at_once');
    const { id } = await say(phone, group, 'first');
    const first = await heard(lid, 'first');
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: group,
      type: 'edit',
      message_id: id,
      text: 'second',
    });
    const edited = await pipeline.event(instance, 'message.edited', (data) => data.from === lid);
    assert.deepEqual([edited.data.phone, edited.data.message_ids], [phone, first.data.message_ids]);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: group,
      type: 'reaction',
      message_id: id,
      emoji: '👍',
    });
    const reaction = await pipeline.event(instance, 'reaction.received', (data) => data.from === lid);
    assert.equal(reaction.data.phone, phone);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: group, type: 'delete', message_id: id });
    const deleted = await pipeline.event(instance, 'message.deleted', (data) => data.from === lid);
    assert.equal(deleted.data.phone, phone);
  });

  test('has messages that are pinned and starred by the sender in their event', async () => {
    const { phone, lid, group } = await stranger('at_once');
    const { id } = await say(phone, group, 'star');
    await heard(lid, 'star');
    const body = { chat_jid: group, message_id: id, sender_jid: lid, starred: true };
    assert.equal((await pipeline.call(instance, 'POST', '/messages/star', body)).status, 200);
    await pipeline.event(instance, 'message.starred', (data) => data.from === lid && data.phone === phone);
  });
});

describe('a person whose phone the network reveals later', () => {
  test('is unknown until then; stored rows are corrected', async () => {
    const { phone, lid, group } = await stranger('later');
    await say(phone, group, 'who am I');
    assert.equal((await heard(lid, 'who am I')).data.phone, '');
    for (const path of [`/lids/${lid}`, `/lids/${lid}?refresh=true`]) {
      const { status, body } = await get(path);
      assert.deepEqual([status, body.error_code], [404, 'NOT_FOUND'], path);
    }
    assert.deepEqual(await pipeline.sandbox.post(`/phones/${phone}/tell-lid`, {}), { lid, phone });
    await learnt(lid);
    await say(phone, group, 'it is me');
    assert.equal((await heard(lid, 'it is me')).data.phone, phone);
    const { body } = await get(`/groups/${group}`);
    assert.ok(
      body.participants.some((one: { jid: string; phone: string }) => one.jid === lid && one.phone === phone),
    );
  });

  test('has corrected statuses and views then, and each viewer counts once', async () => {
    const { phone, lid } = await stranger('later');
    await pipeline.sandbox.post(`/phones/${instance.phone}/contacts`, { add: [phone], mutual: true });
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: 'status', text: 'news of mine' });
    const posted = await pipeline.event(instance, 'status.received', (data) => data.from === lid);
    assert.equal(posted.data.phone, '');
    const { message_id: id } = await pipeline.send(instance, '/messages/status/text', { text: 'ours' });
    await waitFor(async () => (await pipeline.shown(phone, 'status@broadcast')).length === 2 || undefined);
    await pipeline.sandbox.post(`/phones/${phone}/view-status`, {});
    await pipeline.event(instance, 'status.viewed', (data) => data.from === lid && data.phone === '');
    await pipeline.sandbox.post(`/phones/${phone}/tell-lid`, {});
    await learnt(lid);
    const item = (await get(`/status/${posted.data.status_message_id}`)).body;
    assert.equal(item.phone, phone);
    const feed = (await get('/status?direction=inbound')).body.data;
    assert.ok(feed.some((one: { phone: string }) => one.phone === phone));
    const views = (await get(`/status/${id}/views`)).body;
    assert.deepEqual(
      [views.count, views.viewers.map((one: { phone: string; jid: string }) => [one.phone, one.jid])],
      [1, [[phone, lid]]],
    );
    await pipeline.api.parts.db.query(
      `INSERT INTO status_views (instance_id, status_id, viewer_jid, company_id, receipt_type, viewed_at)
       VALUES ($1, $2, $3, $4, 'played', now())`,
      [instance.id, id, `${phone}@s.whatsapp.net`, pipeline.company.companyId],
    );
    const both = (await get(`/status/${id}/views`)).body;
    assert.deepEqual([both.count, both.viewers[0].receipt_type], [1, 'played']);
  });

  test('can be looked up at the network, whose answer is kept', async () => {
    const { phone, lid } = await stranger('at_once');
    await learnt(lid);
    await pipeline.api.parts.db.query('DELETE FROM lids WHERE lid = $1', [lid]);
    assert.equal((await get(`/lids/${lid}`)).status, 404);
    assert.deepEqual((await get(`/lids/${lid}?refresh=true`)).body, { lid, phone });
    assert.deepEqual((await get(`/lids/${lid}`)).body, { lid, phone });
  });
});

describe('a chat with somebody under an anonymous id', () => {
  /** Other networks have such chats; here the test makes them up. */
  const arrive = (lid: string, text: string, id: string) =>
    pipeline.sandbox.post('/events', {
      account: instance.phone,
      event: {
        k: 'message',
        id,
        chat: lid,
        from: lid,
        name: 'X',
        type: 'text',
        content: { text },
        at: Date.now(),
      },
    });
  const tell = (lid: string, phone: string) =>
    pipeline.sandbox.post('/events', {
      account: instance.phone,
      event: { k: 'fact', fact: { kind: 'lid', lid, phone }, at: Date.now() },
    });

  test('becomes the chat of its phone, before and after it is learnt', async () => {
    const [lid, phone] = ['160000000000001@lid', pipeline.newPhone()];
    await arrive(lid, 'before', 'LIDCHAT1');
    const before = await heard(lid, 'before');
    assert.deepEqual([before.data.phone, before.data.chat], ['', lid]);
    const shown = (await get('/message/LIDCHAT1')).body;
    assert.deepEqual([shown.chat_jid, shown.phone, shown.from_jid], [lid, '', lid]);
    await tell(lid, phone);
    await learnt(lid);
    await arrive(lid, 'after', 'LIDCHAT2');
    const after = await heard(lid, 'after');
    const jid = `${phone}@s.whatsapp.net`;
    assert.deepEqual([after.data.phone, after.data.chat, after.data.from], [phone, jid, lid]);
    const mended = (await get('/message/LIDCHAT1')).body;
    assert.deepEqual([mended.chat_jid, mended.phone, mended.from_jid], [jid, phone, lid]);
    for (const name of [phone, lid]) {
      const chat = (await get(`/messages?chat_jid=${name}`)).body.data;
      const words = chat.map((one: { content: { text: string } }) => one.content.text);
      assert.deepEqual(words, ['after', 'before'], name);
      const source = { forward_chat_id: name, message_id: mended.message_id };
      await pipeline.send(instance, '/messages/forward', { to: pipeline.newPhone(), ...source });
    }
    // Calls take the phone as the name of the chat: the network is asked, and has no such message.
    for (const chat_jid of [phone, lid]) {
      const body = { chat_jid, message_id: mended.message_id, starred: true };
      const star = await pipeline.call(instance, 'POST', '/messages/star', body);
      assert.deepEqual([star.status, star.body.error_code], [404, 'MESSAGE_NOT_FOUND']);
    }
    await pipeline.sandbox.post('/events', {
      account: instance.phone,
      event: { k: 'deleted', id: 'LIDCHAT1', env: 'LIDCHAT1D', chat: lid, from: lid, at: Date.now() },
    });
    const deleted = await pipeline.event(instance, 'message.deleted', (data) => data.from === lid);
    assert.deepEqual([deleted.data.phone, deleted.data.chat], [phone, jid]);
  });

  test('has posted a status that leaves the feed when its phone deletes it', async () => {
    const [lid, phone] = ['160000000000021@lid', pipeline.newPhone()];
    const about = { id: 'LIDSTATUS1', chat: 'status@broadcast', at: Date.now() };
    const post = { ...about, k: 'message', from: lid, name: 'X', type: 'text', content: { text: 'story' } };
    await pipeline.sandbox.post('/events', { account: instance.phone, event: post });
    await waitFor(async () => (await get('/status/LIDSTATUS1')).status === 200);
    await tell(lid, phone);
    await learnt(lid);
    const deletion = { ...about, k: 'deleted', env: 'LIDSTATUS1D', from: `${phone}@s.whatsapp.net` };
    await pipeline.sandbox.post('/events', { account: instance.phone, event: deletion });
    await waitFor(async () => (await get('/status/LIDSTATUS1')).status === 404, 20_000);
  });

  test('is one chat with its notes, by either name', async () => {
    const [lid, phone] = ['160000000000011@lid', pipeline.newPhone()];
    const jid = `${phone}@s.whatsapp.net`;
    await arrive(lid, 'one', 'LIDCHAT11');
    await heard(lid, 'one');
    const note = (text: string) => pipeline.call(instance, 'POST', `/chats/${lid}/notes`, { note: text });
    assert.equal((await note('of before')).body.chat_jid, lid);
    assert.equal((await get(`/chats/${lid}`)).body.unread_count, 1);
    await tell(lid, phone);
    await learnt(lid);
    await arrive(lid, 'two', 'LIDCHAT12');
    await heard(lid, 'two');
    assert.equal((await note('of after')).body.chat_jid, jid);
    for (const name of [lid, phone, jid]) {
      const { body } = await get(`/chats/${name}`);
      assert.deepEqual([body.chat_jid, body.unread_count], [jid, 2], name);
      const notes = (await get(`/chats/${name}/notes`)).body.notes.map((one: { note: string }) => one.note);
      assert.deepEqual(notes, ['of after', 'of before'], name);
    }
    const { body } = await get('/chats');
    assert.deepEqual(
      body.data.filter((chat: { chat_jid: string }) => [lid, jid].includes(chat.chat_jid)).length,
      1,
    );
    const read = await pipeline.call(instance, 'POST', `/chats/${lid}/read`, {});
    assert.deepEqual([read.status, read.body.unread_count], [200, 0]);
  });

  test('has one chat, whatever arrives while the network is asked for the person', async () => {
    const people = await Promise.all(Array.from({ length: 8 }, () => stranger('at_once')));
    await Promise.all(people.map(({ lid }) => learnt(lid)));
    const lids = people.map(({ lid }) => lid);
    const { db } = pipeline.api.parts;
    await db.query('DELETE FROM lids WHERE lid = ANY ($1)', [lids]);
    await Promise.all(
      people.flatMap(({ lid, phone }, nth) => [
        ...[1, 2, 3].map((at) => arrive(lid, `${nth} ${at}`, `LIDRACE${nth}X${at}`)),
        get(`/lids/${lid}?refresh=true`).then(({ body }) => assert.deepEqual(body, { lid, phone })),
      ]),
    );
    for (const [nth, { lid }] of people.entries()) await heard(lid, `${nth} 3`);
    const { rows } = await db.query<{ chat_jid: string; unread_count: number }>(
      'SELECT chat_jid, unread_count FROM chats WHERE chat_jid = ANY ($1) ORDER BY chat_jid',
      [[...lids, ...people.map(({ phone }) => `${phone}@s.whatsapp.net`)]],
    );
    assert.deepEqual(
      rows,
      people
        .map(({ phone }) => ({ chat_jid: `${phone}@s.whatsapp.net`, unread_count: 3 }))
        .sort((a, b) => (a.chat_jid < b.chat_jid ? -1 : 1)),
    );
  });

  test('an answer that came before the pair counts for the guard of the phone', async () => {
    const [lid, phone] = ['160000000000002@lid', pipeline.newPhone()];
    await pipeline.api.parts.db.query(
      `INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
       VALUES ($1, $2, $3, 3, 0, now() - interval '1 hour')`,
      [instance.id, `${phone}@s.whatsapp.net`, pipeline.company.companyId],
    );
    await arrive(lid, 'answer', 'LIDCHAT3');
    await heard(lid, 'answer');
    await tell(lid, phone);
    await learnt(lid);
    const { rows } = await pipeline.api.parts.db.query<{ chat_jid: string; outbound_consecutive: number }>(
      'SELECT chat_jid, outbound_consecutive FROM chat_guards WHERE instance_id = $1 AND chat_jid = ANY ($2)',
      [instance.id, [lid, `${phone}@s.whatsapp.net`]],
    );
    assert.deepEqual(rows, [{ chat_jid: `${phone}@s.whatsapp.net`, outbound_consecutive: 0 }]);
  });

  test('an invalid pair is skipped', async () => {
    for (const [lid, phone] of [
      ['160000000000003@lid', 'nobody'],
      ['160000000000003@s.whatsapp.net', '5511999990000'],
      ['160000000000003@lid', '\u0000'],
    ] as const)
      await tell(lid, phone);
    await tell('160000000000004@lid', '5511999990004');
    await learnt('160000000000004@lid');
    assert.equal((await get('/lids/160000000000003@lid')).status, 404);
  });
});

describe('a person whose phone the network never reveals', () => {
  test('stays an anonymous id', async () => {
    const { phone, lid, group } = await stranger('never');
    await say(phone, group, 'nobody');
    assert.equal((await heard(lid, 'nobody')).data.phone, '');
    assert.equal((await get(`/lids/${lid}?refresh=true`)).status, 404);
  });

  test('can be removed from a group by the id', async () => {
    const phone = pipeline.newPhone();
    const { lid } = await pipeline.sandbox.post('/phones', { phone, lid: 'never' });
    const made = await pipeline.call(instance, 'POST', '/groups', { name: 'Ours', participants: [phone] });
    assert.ok(made.body.participants.some((one: { jid: string }) => one.jid === lid));
    const body = { remove: [lid], add: ['199999999999999@lid'] };
    const { results } = (await pipeline.call(instance, 'POST', `/groups/${made.body.jid}/participants`, body))
      .body;
    assert.deepEqual(results, [
      { jid: '199999999999999@lid', action: 'add', done: false, reason: 'no_account' },
      { jid: lid, action: 'remove', done: true, reason: null },
    ]);
  });
});

describe('an anonymous id as a recipient', () => {
  test('is 400 INVALID_RECIPIENT for every kind of send', async () => {
    const to = '150000000000001@lid';
    for (const [method, path, body] of [
      ['POST', '/messages/text', { to, text: 'x' }],
      ['POST', '/messages/location', { to, latitude: 1, longitude: 1 }],
      ['POST', '/messages/reaction', { to, message_id: 'AA', emoji: 'x' }],
      ['POST', '/messages/poll', { to, question: 'x', options: ['a', 'b'] }],
      [
        'POST',
        '/messages/scheduled',
        { type: 'text', send_at: '2030-01-01T00:00:00Z', body: { to, text: 'x' } },
      ],
    ] as const) {
      const answer = await pipeline.call(instance, method, path, body);
      assert.deepEqual([answer.status, answer.body.error_code], [400, 'INVALID_RECIPIENT'], path);
    }
  });
});

describe('pairs', () => {
  test('are asked of a connected instance only, and go with it', async () => {
    const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
      state: 'DISCONNECTED',
    });
    const other = { ...instance, id };
    const lid = '150000000000099@lid';
    const asked = await pipeline.call(other, 'GET', `/lids/${lid}?refresh=true`);
    assert.deepEqual([asked.status, asked.body.error_code], [409, 'INSTANCE_NOT_CONNECTED']);
    const { db } = pipeline.api.parts;
    await db.query(`INSERT INTO lids VALUES ($1, $2, $3, '5511999990000', now())`, [
      id,
      lid,
      pipeline.company.companyId,
    ]);
    assert.equal((await pipeline.call(other, 'GET', `/lids/${lid}`)).body.phone, '5511999990000');
    await pipeline.call(other, 'DELETE', '');
    assert.equal((await db.query('SELECT 1 FROM lids WHERE instance_id = $1', [id])).rows.length, 0);
  });
});
