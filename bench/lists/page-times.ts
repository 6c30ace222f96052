import { listChats } from '@posthorn/core/chats/list-chats.ts';
import { listContacts } from '@posthorn/core/chats/list-contacts.ts';
import { listMessages } from '@posthorn/core/messages/list-messages.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';
import type { BenchDatabases } from '../servers.ts';
import { median } from '../statistics.ts';

/** Positions of a page in a list, from its beginning to its end. */
const DEPTHS = [0, 0.1, 0.5, 0.9, 0.99];
const LIMIT = 50;
/** The fill archives one chat in this many, and marks one in this many as unread. */
const MARKED_EVERY = 10;

export interface PageTimes {
  list: string;
  /** Milliseconds per page, at each depth. */
  first: number;
  at10: number;
  at50: number;
  at90: number;
  at99: number;
  /** The slowest depth divided by the first page. */
  ratio: number;
}

/**
 * The time of one page at several depths of each list, in a database of one instance with `chats` chats, as
 * many contacts and ten times the messages. The cursors come from previous pages, so each depth is first
 * reached by paging there, unmeasured.
 */
export async function measurePages(
  databases: BenchDatabases,
  options: { chats: number; rounds: number },
): Promise<PageTimes[]> {
  const url = await databases.create('lists', 'posthorn');
  // With the API's settings.
  const log = createLog({ level: 'warn', role: 'bench' });
  const db = createDb({ url, poolSize: 2, log, name: 'bench lists' });
  try {
    return await measure(db, databases.open(url), options);
  } finally {
    await db.close();
  }
}

async function measure(
  db: Db,
  filler: Db,
  { chats, rounds }: { chats: number; rounds: number },
): Promise<PageTimes[]> {
  const { companyId, principal } = await seedCompany(filler);
  const instanceId = await seedInstance(filler, companyId);
  await fill(filler, companyId, instanceId, chats);
  const deps = { db, clock: systemClock };
  const at = { principal, instanceId };
  type Page = { data: readonly object[]; nextCursor: string | null };
  const chatPages = (filter: object) => (before: string | undefined, limit: number) =>
    listChats(deps, { ...at, filter: { ...filter, before, limit } });
  const lists: [string, number, (cursor: string | undefined, limit: number) => Promise<Page>][] = [
    ['chats', chats, chatPages({})],
    ['chats, archived', chats / MARKED_EVERY, chatPages({ archived: true })],
    ['chats, not archived', chats - chats / MARKED_EVERY, chatPages({ archived: false })],
    ['chats, unread', chats / MARKED_EVERY, chatPages({ unread: true })],
    ['contacts', chats, (before, limit) => listContacts(deps, { ...at, filter: { before, limit } })],
    [
      'contacts by number',
      chats,
      (before, limit) => listContacts(deps, { ...at, filter: { search: '5511', before, limit } }),
    ],
    ['messages', chats * 10, (before, limit) => listMessages(deps, { ...at, filter: { before, limit } })],
  ];
  const times: PageTimes[] = [];
  for (const [list, length, read] of lists) {
    const cursors = await walkTo(
      read,
      DEPTHS.map((depth) => Math.floor(length * depth)),
    );
    const perDepth = cursors.map((): number[] => []);
    // Each round visits all depths, so that a slow moment of the machine does not affect only one.
    for (let round = 0; round < rounds * 20; round += 1) {
      for (const [nth, cursor] of cursors.entries()) {
        const from = performance.now();
        await read(cursor, LIMIT);
        perDepth[nth]!.push(performance.now() - from);
      }
    }
    const [first, at10, at50, at90, at99] = perDepth.map(median) as [number, number, number, number, number];
    times.push({ list, first, at10, at50, at90, at99, ratio: Math.max(at10, at50, at90, at99) / first });
  }
  return times;
}

/** The cursors for reading the pages at these positions. */
async function walkTo(
  read: (cursor: string | undefined, limit: number) => Promise<{ nextCursor: string | null }>,
  places: readonly number[],
): Promise<(string | undefined)[]> {
  const STRIDE = 5_000;
  const found: (string | undefined)[] = [];
  let cursor: string | undefined;
  let passed = 0;
  for (const place of places) {
    while (passed < place) {
      const step = Math.min(STRIDE, place - passed);
      const { nextCursor } = await read(cursor, step);
      if (nextCursor === null) break;
      cursor = nextCursor;
      passed += step;
    }
    found.push(cursor);
  }
  return found;
}

async function fill(db: Db, companyId: number, instanceId: string, chats: number): Promise<void> {
  const CHUNK = 200_000;
  for (let from = 0; from < chats * 10; from += CHUNK) {
    await db.query(FILL_MESSAGES, [
      from,
      Math.min(chats * 10, from + CHUNK) - 1,
      companyId,
      instanceId,
      chats,
    ]);
  }
  await db.query(FILL_CHATS, [instanceId, companyId, chats]);
  await db.query(FILL_CONTACTS, [instanceId, companyId, chats]);
  for (const table of ['messages', 'chats', 'contacts']) await db.query(`VACUUM (ANALYZE) ${table}`);
}

const JID = `'5511' || lpad((n % $CHATS)::text, 9, '0') || '@s.whatsapp.net'`;

const FILL_MESSAGES = `
INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, sender_jid, status, content, network_id,
                      created_at)
SELECT uuidv7(make_interval(secs => n - $5::bigint * 10)), $3, $4, 'inbound', 'text', ${JID.replace('$CHATS', '$5::bigint')},
       ${JID.replace('$CHATS', '$5::bigint')}, 'received', jsonb_build_object('text', 'Message ' || n), 'BENCH' || n,
       now() + make_interval(secs => n - $5::bigint * 10)
FROM generate_series($1::bigint, $2::bigint) AS n`;

const FILL_CHATS = `
INSERT INTO chats (instance_id, company_id, chat_jid, unread_count, archived, last_message_id, last_message_at, active_at,
                   updated_at)
SELECT $1, $2, chat_jid, CASE WHEN n % ${MARKED_EVERY} = 1 THEN 1 ELSE 0 END, n % ${MARKED_EVERY} = 0, id,
       date_trunc('milliseconds', created_at), date_trunc('milliseconds', created_at), now()
FROM (SELECT row_number() OVER () AS n, chat_jid, id, created_at
      FROM (SELECT chat_jid, id, created_at FROM messages WHERE instance_id = $1 ORDER BY id DESC LIMIT $3) AS newest) AS last`;

const FILL_CONTACTS = `
INSERT INTO contacts (instance_id, company_id, jid, push_name, updated_at)
SELECT $1, $2, ${JID.replace('$CHATS', '$3::bigint')}, 'Contact ' || n, now()
FROM generate_series(0, $3::bigint - 1) AS n`;
