import { setTimeout as delay } from 'node:timers/promises';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { waitFor } from '../support/process.ts';
import type { System, SystemWorker } from '../support/system.ts';

/** Ends connections of a system, but not its own. */
export interface Terminator {
  /** The connections that hold the workers' locks. */
  cutLocks(): Promise<void>;
  /** Every connection to the database but its own. */
  endAll(): Promise<void>;
  close(): Promise<void>;
}

export function createTerminator(databaseUrl: string): Terminator {
  const log = createLog({ level: 'silent', role: 'test' });
  const db = createDb({ url: databaseUrl, poolSize: 1, log, name: 'terminator' });
  const end = async (which: string) => {
    await db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${which}`,
    );
  };
  return {
    cutLocks: () => end(`application_name LIKE '%shards%'`),
    endAll: () => end("backend_type = 'client backend'"),
    close: () => db.close(),
  };
}

export interface KnownWorker {
  id: number;
  tag: string;
  process: SystemWorker;
}

/** The living workers of a system, as the database knows them. */
export async function knownWorkers(system: System): Promise<KnownWorker[]> {
  const { rows } = await system.db.query<{ id: number; name: string; tag: string }>(
    'SELECT id, name, tag FROM workers ORDER BY id',
  );
  return rows.flatMap(({ id, name, tag }) => {
    const process = system.workers.find((worker) => name.endsWith(` ${worker.pid()}`));
    return process ? [{ id, tag, process }] : [];
  });
}

/** The owner of shard 0 and another worker, as soon as both exist: between two owners the shard has none. */
export function leaderAndOther(system: System): Promise<{ leader: KnownWorker; other: KnownWorker }> {
  const look = async () => {
    const { rows } = await system.db.query<{ owner_id: number }>(
      'SELECT owner_id FROM shards WHERE shard = 0',
    );
    const workers = await knownWorkers(system);
    const leader = workers.find(({ id }) => id === rows[0]?.owner_id);
    const other = workers.find(({ id }) => id !== rows[0]?.owner_id);
    return leader && other && { leader, other };
  };
  return waitFor(look, undefined, { what: 'a worker owns shard 0, and there is another' });
}

/** Freezes a worker at a moment when one of its transactions is open and has a place in the order of events. */
export async function freezeInTransaction(db: Db, worker: KnownWorker): Promise<boolean> {
  const open = async () => {
    const { rows } = await db.query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name LIKE '%' || $1 || '%' AND backend_xid IS NOT NULL`,
      [worker.tag],
    );
    return rows.length > 0;
  };
  for (let attempt = 0; attempt < 300; attempt += 1) {
    while (!(await open())) await delay(1);
    worker.process.signal('SIGSTOP');
    // By then the database has finished everything that it would finish by itself.
    await delay(300);
    if (await open()) return true;
    worker.process.signal('SIGCONT');
    await delay(20);
  }
  return false;
}

/** The longest time in which a count did not grow, from now until `end`. */
export function watchGrowth(read: () => Promise<number>): { end(): Promise<{ longestStandMs: number }> } {
  let ended = false;
  let longest = 0;
  const watching = (async () => {
    let last = await read();
    let since = performance.now();
    while (!ended) {
      await delay(100);
      const now = await read().catch(() => last);
      longest = Math.max(longest, performance.now() - since);
      if (now > last) {
        last = now;
        since = performance.now();
      }
    }
  })();
  return {
    async end() {
      ended = true;
      await watching;
      return { longestStandMs: longest };
    },
  };
}
