import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { type AttemptResult, recordAttempts } from '@posthorn/core/webhooks/delivery/record-attempts.ts';

const BATCH_MAX = 500;
const RETRY_MS = 500;

/**
 * Writes results in batches: while one is on its way the next gathers, so that the busier it is the
 * fewer statements a result costs. Keeps trying while the database is away; what is never written is
 * attempted again under the same number once the lease ends.
 */
export function createAttemptRecorder(deps: { db: Db; log: Log }) {
  let waiting: AttemptResult[] = [];
  let writing: Promise<void> | null = null;
  let stopped = false;

  async function write(): Promise<void> {
    // What ends in the same turn of the event loop goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH_MAX);
      waiting = waiting.slice(BATCH_MAX);
      try {
        await recordAttempts(deps.db, batch);
      } catch (err) {
        deps.log.warn({ err, attempts: batch.length }, 'recording webhook attempts failed, trying again');
        if (stopped) break;
        waiting = [...batch, ...waiting];
        await delay(RETRY_MS);
      }
    }
    // In the same turn as the last look at `waiting`: a result that comes now begins a write of its own.
    writing = null;
  }

  function add(result: AttemptResult): void {
    waiting.push(result);
    writing ??= write();
  }

  return {
    add,
    /** Results not written yet: a claim while many wait would only add to them. */
    backlog: () => waiting.length,
    /** Resolves when everything given so far is written, or given up. */
    async stop(): Promise<void> {
      stopped = true;
      while (writing) await writing;
    },
  };
}
