import { randomUUID } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { discardObject, writeObject } from '../media/save-media.ts';
import type { Spool } from '../media/spool.ts';
import { objectsOf } from '../media/storage-key.ts';
import type { Db } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { fittingSql } from '../platform/database/paging.ts';
import { DAY_MS } from '../platform/durations.ts';
import { firstIdAt, timeOfId } from '../platform/ids.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { type MessageRow, viewMessages } from './find-message.ts';

export interface ArchiveDeps {
  db: Db;
  clock: Clock;
  spool: Spool;
  /** Null: messages go without an archive. */
  storage: Storage | null;
  /** Days that messages are kept where the plan says nothing; null: for ever. */
  retentionDays: number | null;
  /** An instance whose messages go by a rule of their own. */
  exceptInstanceId: string;
  signal: AbortSignal;
}

export interface Removed {
  messages: number;
  archives: number;
}

/** A file ends after so many messages or bytes, before compression; a look reads so many. */
const FILE_MESSAGES = 20_000;
const FILE_BYTES = 64_000_000;
const PAGE_ROWS = 1_000;
const PAGE_BYTES = 8_000_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Removes the messages past their retention, in whole months (UTC): a month goes when its last day is past. Those of an
 * instance are written to the storage first, as gzipped lines of JSON in the shape in which the API shows a message;
 * those of an instance that was deleted just go. A message with unfinished work stays, and one that changes meanwhile
 * goes with a later round. A process that dies loses nothing and leaves no file behind for good. Throws errors of the
 * storage and the database.
 */
export async function archiveMessages(deps: ArchiveDeps): Promise<Removed> {
  const { db, clock, signal } = deps;
  const removed: Removed = { messages: 0, archives: 0 };
  let owner: Owner | undefined;
  for (;;) {
    const next = await db.query<Owner>({
      ...NEXT_INSTANCE,
      values: [owner?.instanceId ?? FIRST_ID, deps.retentionDays],
    });
    owner = next.rows[0];
    if (!owner || signal.aborted) return removed;
    if (owner.days === null || owner.instanceId === deps.exceptInstanceId) continue;
    const before = startOfMonth(new Date(clock.now().getTime() - owner.days * DAY_MS));
    let after = FIRST_ID;
    while (!signal.aborted) {
      const taken = await removeSome(deps, owner, { after, before }, removed);
      if (taken === null) break;
      after = taken;
    }
  }
}

interface Owner {
  instanceId: string;
  companyId: number;
  days: number | null;
  /** False: the instance was deleted. */
  isThere: boolean;
}

/** A message as it was read; it is removed only if it is still of this version. */
type Past = MessageRow & { version: string };

interface Range {
  after: string;
  before: Date;
}

/** Removes what fits into one file; gives the last id that it read, null when nothing was left. */
async function removeSome(
  deps: ArchiveDeps,
  owner: Owner,
  range: Range,
  removed: Removed,
): Promise<string | null> {
  const past = readPast(deps.db, owner, range);
  if (!(await past.hasSome())) return null;
  const { storage } = deps;
  if (owner.isThere && storage) {
    const { messages, isKept } = await removeToFile({ ...deps, storage }, owner, past);
    removed.messages += messages;
    removed.archives += isKept ? 1 : 0;
  } else {
    for await (const _ of past.pages());
    const { rows } = await deps.db.query<{ messages: number }>({ ...REMOVE, values: past.toRemove() });
    removed.messages += oneRow(rows).messages;
  }
  return past.lastId();
}

/** The messages of one file, page by page, and afterwards their ids and versions. */
function readPast(db: Db, { instanceId }: Owner, { after, before }: Range) {
  const ids: string[] = [];
  const versions: string[] = [];
  const reading = read();

  async function* read(): AsyncGenerator<Past[], void> {
    let bytes = 0;
    while (ids.length < FILE_MESSAGES && bytes < FILE_BYTES) {
      const { rows } = await db.query<Past & { bytes: number }>({
        ...PAGE,
        values: [instanceId, firstIdAt(before), ids.at(-1) ?? after, PAGE_ROWS, PAGE_BYTES, before],
      });
      if (rows.length === 0) return;
      for (const { id, version } of rows) {
        ids.push(id);
        versions.push(version);
      }
      bytes += rows.at(-1)!.bytes;
      yield rows;
    }
  }

  let first: IteratorResult<Past[], void> | null = null;
  return {
    async hasSome(): Promise<boolean> {
      first = await reading.next();
      return first.done !== true;
    },
    async *pages(): AsyncGenerator<Past[]> {
      if (first?.value) yield first.value;
      yield* reading;
    },
    count: () => ids.length,
    firstId: () => ids[0]!,
    lastId: () => ids.at(-1)!,
    toRemove: (): unknown[] => [ids, versions, instanceId],
  };
}

type PastMessages = ReturnType<typeof readPast>;

/** Writes them to a file and removes those that have not changed since they were read. */
async function removeToFile(
  deps: ArchiveDeps & { storage: Storage },
  owner: Owner,
  past: PastMessages,
): Promise<{ messages: number; isKept: boolean }> {
  const { db, clock, spool } = deps;
  const file = await spool.write(zip(linesOf(db, past.pages())), { maxBytes: Number.MAX_SAFE_INTEGER });
  try {
    const id = randomUUID();
    const key = `${objectsOf(owner.companyId)}archive/${owner.instanceId}/${id}`;
    await writeObject(deps, { key, scope: owner, file, mimeType: 'application/gzip' });
    // If this fails, perhaps only its answer was lost, and the file holds the messages: the note in media_trash decides.
    const { rows } = await db.query<{ messages: number; isKept: boolean }>({
      ...ARCHIVE,
      values: [
        ...past.toRemove(),
        id,
        new Date(timeOfId(past.firstId())),
        new Date(timeOfId(past.lastId())),
        past.count(),
        file.sizeBytes,
        key,
        clock.now(),
      ],
    });
    const outcome = oneRow(rows);
    if (!outcome.isKept) await discardObject(deps, key);
    return outcome;
  } finally {
    await file.discard();
  }
}

async function* linesOf(db: Db, pages: AsyncIterable<Past[]>): AsyncGenerator<string> {
  for await (const rows of pages)
    yield (await viewMessages(db, rows)).map((message) => `${JSON.stringify(message)}\n`).join('');
}

async function* zip(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  const zipped = createGzip();
  const zipping = pipeline(lines, zipped);
  // The reader gets the failure from `zipped`; an unhandled rejection would end the process.
  zipping.catch(() => undefined);
  yield* zipped;
  await zipping;
}

function startOfMonth(time: Date): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1));
}

/** From one instance to the next by the index, also of those that are deleted. */
const NEXT_INSTANCE = {
  name: 'archive-next-instance',
  text: `
SELECT m.instance_id AS "instanceId", m.company_id AS "companyId", i.id IS NOT NULL AS "isThere",
       coalesce(c.message_retention_days, $2::integer) AS days
FROM (SELECT instance_id, company_id FROM messages WHERE instance_id > $1 ORDER BY instance_id LIMIT 1) AS m
LEFT JOIN instances i ON i.id = m.instance_id
LEFT JOIN companies c ON c.id = m.company_id`,
};

/** A send, a change or a receipt that is still to go out needs its message. The queue is looked through once for all messages. */
const noWork = (instanceId: string) =>
  `m.id NOT IN (SELECT o.message_id FROM outbox o WHERE o.instance_id = ${instanceId} AND o.message_id IS NOT NULL)`;

/**
 * The range of ids is spelled as in `ownedSql`, for the same reason. A scheduled send has its id before it is a message, so the
 * time of the message counts as well.
 */
const PAGE = {
  name: 'archive-page',
  text: `
WITH RECURSIVE past AS MATERIALIZED (
  SELECT array_agg(id ORDER BY id) AS ids FROM (
    SELECT id FROM messages m
    WHERE (instance_id, id) > ($1, $3) AND (instance_id, id) < ($1, $2) AND created_at < $6 AND ${noWork('$1')}
    ORDER BY instance_id, id LIMIT $4
  ) AS page
), ${fittingSql({ table: 'messages', column: 'content', ids: '(SELECT ids FROM past)', maxBytes: '$5::bigint' })}
SELECT m.*, m.xmin::text AS version, f.bytes FROM fitting f JOIN messages m ON m.id = f.id ORDER BY f.nth`,
};

const GONE = `gone AS (
  DELETE FROM messages m USING unnest($1::uuid[], $2::text[]) AS taken (id, version)
  WHERE m.id = taken.id AND m.xmin::text = taken.version AND m.instance_id = $3 AND ${noWork('$3')}
  RETURNING m.id
)`;

const REMOVE = {
  name: 'archive-remove',
  text: `WITH ${GONE} SELECT count(*)::integer AS messages FROM gone`,
};

const ARCHIVE = {
  name: 'archive-store',
  text: `
WITH ${GONE}, kept AS (
  INSERT INTO message_archives (id, company_id, instance_id, first_at, last_at, messages, size_bytes, storage_key, created_at)
  SELECT $4, i.company_id, i.id, $5, $6, $7, $8, $9, $10
  FROM (SELECT id, company_id FROM instances WHERE id = $3 FOR KEY SHARE) AS i WHERE EXISTS (SELECT FROM gone)
  RETURNING id
), written AS (
  DELETE FROM media_trash WHERE storage_key = $9 AND EXISTS (SELECT FROM kept)
)
SELECT (SELECT count(*)::integer FROM gone) AS messages, EXISTS (SELECT FROM kept) AS "isKept"`,
};
