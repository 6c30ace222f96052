import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { purgeCompany } from '@posthorn/core/accounts/company/purge-company.ts';
import { linkToChat } from '@posthorn/core/media/link-to-chat.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { type MediaServer, startMediaServer } from './support.ts';

let media: MediaServer;
before(async () => {
  media = await startMediaServer();
});
after(() => media.close());

interface Seeded {
  id: string;
  mime: string;
  chat: string | null;
  size: number;
  at: number;
}

const TYPES = ['image/png', 'image/jpeg', 'video/mp4', 'audio/ogg; codecs=opus', 'application/pdf'];
const CHATS = [null, '5511999990001@s.whatsapp.net', '5511999990002@s.whatsapp.net', '120363000@g.us'];

async function seed(companyId: number, instanceId: string, count: number): Promise<Seeded[]> {
  const start = Date.now() - count * 1000;
  const all = Array.from({ length: count }, (_, nth) => ({
    id: randomUUID(),
    mime: TYPES[randomInt(TYPES.length)]!,
    chat: CHATS[randomInt(CHATS.length)]!,
    size: randomInt(1, 1000),
    at: start + nth * 1000,
  }));
  await media.parts.db.query(
    `INSERT INTO media (id, company_id, instance_id, source, mime_type, file_name, size_bytes, sha256, storage_key,
                        remote_jid, created_at)
     SELECT id, $2, $3, 'inbound', mime, 'f', size, '\\x00', 'key/' || id, chat, to_timestamp(at / 1000.0)
     FROM json_to_recordset($1) AS r (id uuid, mime text, chat text, size bigint, at bigint)`,
    [JSON.stringify(all), companyId, instanceId],
  );
  return all.reverse();
}

async function list(instanceId: string, key: string, query: Record<string, string>) {
  const answer = await media.call('GET', `/v1/instances/${instanceId}/media?${new URLSearchParams(query)}`, {
    key,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

async function conversations(instanceId: string, key: string, query: Record<string, string> = {}) {
  const answer = await media.call(
    'GET',
    `/v1/instances/${instanceId}/media/conversations?${new URLSearchParams(query)}`,
    { key },
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}

function summariesOf(all: readonly Seeded[], prefix = '') {
  const chats = Map.groupBy(
    all.filter(({ chat, mime }) => chat && mime.startsWith(prefix)),
    ({ chat }) => chat!,
  );
  return [...chats]
    .map(([remote_jid, items]) => ({
      remote_jid,
      media_count: items.length,
      total_size: items.reduce((sum, { size }) => sum + size, 0),
      last_media_at: new Date(items[0]!.at).toISOString(),
      thumbnail_id: (items.slice(0, 50).find(({ mime }) => mime.startsWith('image/')) ?? items[0]!).id,
    }))
    .sort((a, b) => b.last_media_at.localeCompare(a.last_media_at));
}

test('every page, filter and total agrees with a plain reading of the rows', async () => {
  const company = await seedCompany(media.parts.db);
  const instanceId = await seedInstance(media.parts.db, company.companyId);
  const all = await seed(company.companyId, instanceId, 230);
  const filters: [Record<string, string>, (item: Seeded) => boolean][] = [
    [{}, () => true],
    [{ mime_type: 'image/' }, ({ mime }) => mime.startsWith('image/')],
    [{ mime_type: 'IMAGE/png' }, ({ mime }) => mime === 'image/png'],
    [{ mime_type: 'audio/ogg' }, ({ mime }) => mime.startsWith('audio/ogg')],
    [{ mime_type: '%' }, () => false],
    [{ mime_type: 'image_png' }, () => false],
    [{ remote_jid: CHATS[1]! }, ({ chat }) => chat === CHATS[1]],
    [
      { remote_jid: CHATS[3]!, mime_type: 'video/' },
      ({ chat, mime }) => chat === CHATS[3] && mime === 'video/mp4',
    ],
    [{ remote_jid: 'nobody@s.whatsapp.net' }, () => false],
  ];
  for (const [query, fits] of filters) {
    const expected = all.filter(fits);
    for (const [page, limit] of [
      [1, 50],
      [2, 50],
      [3, 7],
      [99, 100],
    ] as const) {
      const answer = await list(instanceId, company.apiKey, {
        ...query,
        page: String(page),
        limit: String(limit),
      });
      assert.equal(answer.total, expected.length, JSON.stringify(query));
      assert.deepEqual([answer.page, answer.limit], [page, limit]);
      assert.deepEqual(
        answer.data.map((item: { id: string }) => item.id),
        expected.slice((page - 1) * limit, page * limit).map(({ id }) => id),
        JSON.stringify({ query, page, limit }),
      );
    }
  }
  const [first] = (await list(instanceId, company.apiKey, {})).data;
  const { chat, ...newest } = all[0]!;
  assert.deepEqual(first, {
    id: newest.id,
    external_id: newest.id,
    instance_id: instanceId,
    s3_key: `key/${newest.id}`,
    mime_type: newest.mime,
    file_name: 'f',
    file_size: newest.size,
    ...(chat ? { remote_jid: chat } : {}),
    created_at: new Date(newest.at).toISOString(),
  });
  const unbounded = await list(instanceId, company.apiKey, { limit: '5000' });
  assert.deepEqual([unbounded.limit, unbounded.data.length], [100, 100]);
  assert.equal((await list(instanceId, company.apiKey, {})).limit, 50);
});

test('conversations sum up the media of each chat, also after some of it is removed', async () => {
  const company = await seedCompany(media.parts.db);
  const instanceId = await seedInstance(media.parts.db, company.companyId);
  let all = await seed(company.companyId, instanceId, 150);
  assert.deepEqual(await conversations(instanceId, company.apiKey), summariesOf(all));
  assert.deepEqual(
    await conversations(instanceId, company.apiKey, { mime_type: 'image/' }),
    summariesOf(all, 'image/'),
  );
  const gone = new Set(all.filter(() => Math.random() < 0.5).map(({ id }) => id));
  await media.parts.db.query('DELETE FROM media WHERE id = ANY ($1::uuid[])', [[...gone]]);
  all = all.filter(({ id }) => !gone.has(id));
  assert.deepEqual(await conversations(instanceId, company.apiKey), summariesOf(all));
  assert.equal((await list(instanceId, company.apiKey, {})).total, all.length);
  await media.parts.db.query('DELETE FROM media WHERE instance_id = $1', [instanceId]);
  assert.deepEqual(await conversations(instanceId, company.apiKey), []);
  assert.equal((await list(instanceId, company.apiKey, {})).total, 0);
});

test('an upload counts for the first chat that it is sent to', async () => {
  const company = await seedCompany(media.parts.db);
  const instanceId = await seedInstance(media.parts.db, company.companyId);
  const all = await seed(company.companyId, instanceId, 60);
  const unlinked = all.filter(({ chat }) => !chat);
  const chat = '5511888880000@s.whatsapp.net';
  for (const item of unlinked) {
    // Two sends to the chat at the same time: one of them comes first.
    await Promise.all([chat, chat].map((jid) => linkToChat(media.parts, { mediaId: item.id }, jid)));
    await linkToChat(media.parts, { mediaId: item.id }, 'later@s.whatsapp.net');
    item.chat = chat;
  }
  assert.deepEqual(await conversations(instanceId, company.apiKey), summariesOf(all));
  assert.equal((await list(instanceId, company.apiKey, { remote_jid: chat })).total, unlinked.length);
  assert.equal((await list(instanceId, company.apiKey, {})).total, all.length);
});

test('conversations leave out expired media that is not removed yet', async () => {
  const company = await seedCompany(media.parts.db);
  const instanceId = await seedInstance(media.parts.db, company.companyId);
  const all = await seed(company.companyId, instanceId, 60);
  const isPast = ({ chat, at }: Seeded) => chat === CHATS[1] || at > all[20]!.at;
  await media.parts.db.query('UPDATE media SET expires_at = $2 WHERE id = ANY ($1::uuid[])', [
    all.filter(isPast).map(({ id }) => id),
    media.parts.clock.now(),
  ]);
  const left = all.filter((item) => !isPast(item));
  assert.deepEqual(await conversations(instanceId, company.apiKey), summariesOf(left));
});

test('media from before the phone of its chat was known counts for the chat', async () => {
  const company = await seedCompany(media.parts.db);
  const instanceId = await seedInstance(media.parts.db, company.companyId);
  const all = await seed(company.companyId, instanceId, 60);
  const [, chat] = CHATS as [null, string];
  const lid = '123456789012345@lid';
  for (const table of ['media', 'media_tallies'])
    await media.parts.db.query(
      `UPDATE ${table} SET remote_jid = $3 WHERE instance_id = $1 AND remote_jid = $2 AND mime_type < 'image'`,
      [instanceId, chat, lid],
    );
  await media.parts.db.query(
    `INSERT INTO lids (instance_id, lid, company_id, phone, learned_at) VALUES ($1, $2, $3, $4, now())`,
    [instanceId, lid, company.companyId, chat.split('@')[0]],
  );
  assert.deepEqual(await conversations(instanceId, company.apiKey), summariesOf(all));
  for (const remote_jid of [chat, lid, '+55 11 99999-0001']) {
    const { total, data } = await list(instanceId, company.apiKey, { remote_jid });
    const ofChat = all.filter((item) => item.chat === chat);
    assert.deepEqual(
      [total, data.map((item: { id: string }) => item.id)],
      [ofChat.length, ofChat.map(({ id }) => id)],
    );
    assert.ok(data.every((item: { remote_jid: string }) => item.remote_jid === chat));
  }
});

test('many at work on one instance leave true sums', async () => {
  const company = await seedCompany(media.parts.db);
  const instanceId = await seedInstance(media.parts.db, company.companyId);
  const batches = await Promise.all(
    Array.from({ length: 20 }, () => seed(company.companyId, instanceId, 25)),
  );
  const all = batches.flat();
  await Promise.all(
    batches.map((batch, nth) =>
      nth % 2 === 0
        ? media.parts.db.query('DELETE FROM media WHERE id = ANY ($1::uuid[])', [batch.map(({ id }) => id)])
        : seed(company.companyId, instanceId, 5),
    ),
  );
  const expected = all.length / 2 + 10 * 5;
  assert.equal((await list(instanceId, company.apiKey, {})).total, expected);
  const summed = await media.parts.db.query<{ n: number }>(
    'SELECT sum(media_count)::int AS n FROM media_tallies WHERE instance_id = $1',
    [instanceId],
  );
  assert.equal(summed.rows[0]!.n, expected);
});

test('a company sees its own media only, and a purge leaves nothing of it but trash to empty', async () => {
  const [mine, theirs] = [await seedCompany(media.parts.db), await seedCompany(media.parts.db)];
  const instanceId = await seedInstance(media.parts.db, theirs.companyId);
  await seed(theirs.companyId, instanceId, 20);
  for (const path of ['media', 'media/conversations']) {
    const answer = await media.call('GET', `/v1/instances/${instanceId}/${path}`, { key: mine.apiKey });
    assert.deepEqual([answer.status, answer.body.message], [404, 'instance not found']);
  }
  await purgeCompany(media.parts, theirs.companyId);
  for (const table of ['media', 'media_tallies', 'media_orphans']) {
    const left = await media.parts.db.query(`SELECT 1 FROM ${table} WHERE company_id = $1`, [
      theirs.companyId,
    ]);
    assert.equal(left.rowCount, 0, table);
  }
  const trash = await media.parts.db.query(`SELECT 1 FROM media_trash WHERE storage_key LIKE 'key/%'`);
  assert.ok(trash.rowCount! >= 20);
});

test('expired media is neither listed nor counted, before and after its removal', async () => {
  const company = await seedCompany(media.parts.db);
  const instanceId = await seedInstance(media.parts.db, company.companyId);
  const all = await seed(company.companyId, instanceId, 30);
  const gone = all.filter((_, at) => at % 3 === 0);
  await media.parts.db.query('UPDATE media SET expires_at = $2 WHERE id = ANY ($1::uuid[])', [
    gone.map(({ id }) => id),
    new Date(media.parts.clock.now().getTime() - 1_000),
  ]);
  const left = all.filter((item) => !gone.includes(item));
  for (const [query, fits] of [
    [{}, () => true],
    [{ mime_type: 'image/' }, ({ mime }: Seeded) => mime.startsWith('image/')],
    [{ remote_jid: CHATS[1]! }, ({ chat }: Seeded) => chat === CHATS[1]],
  ] as const) {
    const expected = left.filter(fits).length;
    const answer = await list(instanceId, company.apiKey, { ...query, limit: '100' });
    assert.deepEqual([answer.total, answer.data.length], [expected, expected], JSON.stringify(query));
  }
});
