import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';

/** A periodic job that runs in one process at a time. */
export interface LoneJob<T> {
  start(): void;
  /** Tells the current round to end; resolves when it has. */
  stop(): Promise<void>;
  /** Runs one round now; null if another process is running it. */
  runOnce(): Promise<T | null>;
}

/**
 * Runs `round` every `everyMs` of the clock while holding the advisory lock `lock`; a process that finds it
 * held skips the round. A round that throws is logged and runs again at its next time.
 */
export function createLoneJob<T>(
  deps: { db: Db; clock: Clock; log: Log },
  job: { name: string; lock: number; everyMs: number; round: (signal: AbortSignal) => Promise<T> },
): LoneJob<T> {
  const { db, clock, log } = deps;
  const stopping = new AbortController();
  let loop: Loop | null = null;

  async function runOnce(): Promise<T | null> {
    // The lock has its own connection; the database frees it when this process dies.
    const client = await db.pool.connect();
    let failed = true;
    try {
      const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [
        job.lock,
      ]);
      const outcome = rows[0]!.mine ? await job.round(stopping.signal) : null;
      // Unlock before returning the connection: closing it would free the lock too, but later.
      if (rows[0]!.mine) await client.query('SELECT pg_advisory_unlock($1)', [job.lock]);
      failed = false;
      return outcome;
    } finally {
      // After a failure the connection is closed, which always frees the lock.
      client.release(failed);
    }
  }

  return {
    start() {
      loop = startLoop({
        clock,
        everyMs: job.everyMs,
        run: async () => void (await runOnce()),
        onError: (err) => log.warn({ err }, `${job.name} failed, will be retried`),
      });
    },
    async stop() {
      stopping.abort();
      await loop?.stop();
    },
    runOnce,
  };
}
