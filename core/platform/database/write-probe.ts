import { atMostEvery } from '../process/at-most-every.ts';
import { NotReady } from '../process/readiness.ts';
import type { Sql } from './db.ts';
import { oneRow } from './one-row.ts';

/** Readiness is checked often and by several load balancers; a write every few seconds is enough. */
const REPEAT_AFTER_MS = 5_000;
/** Two of these do not fit in one page of 8 kB. */
const PADDING_BYTES = 5_000;
const TIDY_ABOVE_BYTES = 1024 * 1024;
/** The table cannot be truncated (a dump holds it for hours): a hundred rows then share a page. */
const FULL_ABOVE_BYTES = 32 * 1024 * 1024;

const DISK_FULL = '53100';
const READ_ONLY = '25006';

/** A check that the database accepts writes; its outcome is kept for some seconds. */
export function createWriteProbe(deps: { db: Sql }): () => Promise<void> {
  return atMostEvery(REPEAT_AFTER_MS, async () => {
    try {
      await write(deps.db);
    } catch (err) {
      const { code } = err as { code?: unknown };
      if (code === DISK_FULL) throw new NotReady('takes no writes: the disk is full', { cause: err });
      if (code === READ_ONLY) throw new NotReady('takes no writes: read-only', { cause: err });
      throw err;
    }
  });
}

async function write(sql: Sql): Promise<void> {
  const { rows } = await sql.query<{ size: number }>(`SELECT pg_relation_size('write_probes') AS size`);
  const { size } = oneRow(rows);
  if (size > TIDY_ABOVE_BYTES) await tidy(sql);
  const paddingBytes = size > FULL_ABOVE_BYTES ? 0 : PADDING_BYTES;
  await sql.query('INSERT INTO write_probes (padding) VALUES ($1)', [Buffer.alloc(paddingBytes)]);
}

/**
 * Immediately or not at all: waiting for the lock behind a dump, this would block every other probe. Two statements
 * in one string are one transaction.
 */
async function tidy(sql: Sql): Promise<void> {
  await sql
    .query('LOCK TABLE write_probes IN ACCESS EXCLUSIVE MODE NOWAIT; TRUNCATE write_probes')
    .catch(() => undefined);
}
