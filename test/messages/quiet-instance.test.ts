import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createInbox } from '@posthorn/core/instances/keep-inbox.ts';
import { archiveMessages } from '@posthorn/core/messages/archive-messages.ts';
import { listMessages, type MessageFilter } from '@posthorn/core/messages/list-messages.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

/** Messages of the instance that has been quiet for long, and of each of the two that have written since. */
const QUIET = 3_000;
const BUSY = 20_000;
const LIMIT = 50;
/** After this many runs PostgreSQL keeps a generic plan. */
const TIMES = 8;

let parts: Parts;
let db: Db;
let company: SeededCompany;
let quietId: string;
before(async () => {
  parts = await createParts();
  db = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'quiet' });
  company = await seedCompany(db);
  quietId = await seedInstance(db, company.companyId);
  const busyIds = [await seedInstance(db, company.companyId), await seedInstance(db, company.companyId)];
  await fillMessages([quietId], QUIET, '400 days');
  await fillMessages(busyIds, 2 * BUSY, '1 day');
  // An inbox is read from the oldest message on.
  await fillInbox(busyIds, 2 * BUSY);
  await fillInbox([quietId], QUIET);
  await db.query('VACUUM (ANALYZE) messages, network_inbox');
});
after(async () => {
  await db.close();
  await parts.close();
});

async function fillMessages(instanceIds: readonly string[], rows: number, ago: string): Promise<void> {
  await db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     SELECT uuidv7(n * interval '1 second' - $4::interval), $1, ($2::uuid[])[1 + n % cardinality($2::uuid[])], 'outbound',
            'text', '5511999990000@s.whatsapp.net', 'read', '{"text":"Hello"}', now()
     FROM generate_series(1, $3::integer) AS n`,
    [company.companyId, instanceIds, rows, ago],
  );
}

async function fillInbox(instanceIds: readonly string[], rows: number): Promise<void> {
  await db.query(
    `INSERT INTO network_inbox (instance_id, company_id, body, received_at)
     SELECT ($1::uuid[])[1 + n % cardinality($1::uuid[])], $2, '{}', now() FROM generate_series(1, $3::integer) AS n`,
    [instanceIds, company.companyId, rows],
  );
}

/** Rows and index entries of a table that `work` reads each time, on the one connection of the pool. */
async function readOf(table: string, work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await db.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await db.query<{ read: number }>(
      `SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = $1)
            + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = $1) AS read`,
      [table],
    );
    return Number(rows[0]!.read);
  };
  const before = await read();
  for (let time = 0; time < TIMES; time += 1) await work();
  return ((await read()) - before) / TIMES;
}

const list = (filter: Partial<MessageFilter>) =>
  listMessages(
    { db },
    { principal: company.principal, instanceId: quietId, filter: { limit: LIMIT, ...filter } },
  );

test('a page of an instance that has been quiet for long passes over nothing that others have written since', async () => {
  const { data, nextCursor } = await list({});
  const pages: [string, Partial<MessageFilter>][] = [
    ['the newest', {}],
    ['before a message', { before: nextCursor! }],
    ['after a message', { after: data.at(-1)!.message_id }],
  ];
  for (const [name, filter] of pages) {
    const read = await readOf('messages', () => list(filter));
    // Each is skipped, measured and read, in an index and in the table.
    assert.ok(read <= 8 * LIMIT, `${name}: ${read} rows and index entries`);
  }
  const found = await readOf('messages', () => list({ direction: 'outbound' }));
  assert.ok(found <= 2 * 2_000 + 8 * LIMIT, `with a filter: ${found} rows and index entries`);
});

test('the inbox of an instance passes over nothing that waits for others', async () => {
  const { rows } = await db.query<{ shard: number; epoch: number }>(
    'SELECT shard, epoch FROM shards JOIN instances USING (shard) WHERE id = $1',
    [quietId],
  );
  const inbox = createInbox(db, { instanceId: quietId, lease: rows[0]! });
  const read = await readOf('network_inbox', () => inbox.next(LIMIT, []));
  assert.ok(read <= 4 * LIMIT, `${read} rows and index entries`);
});

test('the archiving of an instance without old messages passes over none of others', async () => {
  const deps = {
    ...parts,
    db,
    spool: null as never,
    storage: null,
    retentionDays: 30,
    signal: new AbortController().signal,
  };
  const read = await readOf('messages', () => archiveMessages({ ...deps, exceptInstanceId: quietId }));
  assert.ok(read <= 2 * LIMIT, `${read} rows and index entries`);
});
