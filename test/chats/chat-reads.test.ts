import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listChats } from '@posthorn/core/chats/list-chats.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

const ROWS = 5_000;

test('a page of chats reads the labels, groups, ids and messages of its own chats only', async (t) => {
  const { principal, companyId } = await seedCompany(parts.db);
  const instanceId = await seedInstance(parts.db, companyId);
  const db = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'reads' });
  t.after(() => db.close());
  // A network that says until when a chat is open.
  await db.query(`INSERT INTO network_drivers (name, lacks) VALUES ('sandbox', '{unprompted}')`);
  const fill = (insert: string) =>
    db.query(
      `${insert} FROM (SELECT $1::uuid AS id, $2::integer AS company, nth, nth || '@s.whatsapp.net' AS jid, now() AS at
         FROM generate_series(1, ${ROWS}) AS nth) AS given`,
      [instanceId, companyId],
    );
  await fill(
    `INSERT INTO chats (instance_id, company_id, chat_jid, active_at, updated_at) SELECT id, company, jid, at, at`,
  );
  await fill(
    `INSERT INTO label_links (instance_id, company_id, label_id, chat_jid, associated, revision, updated_at)
     SELECT id, company, '1', jid, true, 1, at`,
  );
  await fill(
    `INSERT INTO chat_groups (instance_id, company_id, jid, name, description, announce, locked, participants, told_at, fact_at, updated_at)
     SELECT id, company, jid, '', '', false, false, '[]', at, at, at`,
  );
  await fill(
    `INSERT INTO lids (instance_id, company_id, lid, phone, learned_at) SELECT id, company, nth || '@lid', nth::text, at`,
  );
  await fill(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, network_id, created_at)
     SELECT gen_random_uuid(), company, id, 'inbound', 'text', jid, 'received', '{}', nth::text, at`,
  );
  await db.query('ANALYZE');
  const tables = ['label_links', 'chat_groups', 'lids', 'messages'];
  const read = async () => {
    await db.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await db.query<{ name: string; read: number }>(
      `SELECT t.relname AS name, (t.seq_tup_read + (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relid = t.relid))::integer AS read
       FROM pg_stat_user_tables t WHERE relname = ANY ($1)`,
      [tables],
    );
    return new Map(rows.map((row) => [row.name, row.read]));
  };
  const earlier = await read();
  const { data } = await listChats(
    { db, clock: parts.clock },
    { principal, instanceId, filter: { limit: 50 } },
  );
  assert.equal(data.length, 50);
  assert.ok(data.every(({ labels, window_until }) => labels[0] === '1' && window_until !== null));
  for (const [name, rows] of await read()) {
    const taken = rows - earlier.get(name)!;
    // A table may be read whole once, where the page is joined to it.
    assert.ok(taken <= 2 * ROWS, `${taken} entries of ${name} were read for 50 chats`);
  }
});
