import { setImmediate as immediate } from 'node:timers/promises';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import { type AttemptResult, recordAttempts } from './record-attempts.ts';

const BATCH_MAX = 500;
const RETRY_MS = 500;
/**
 * Nobody waits for the results that gather meanwhile, and one in a statement of four costs half of one alone.
 */
const GATHER_MS = 20;

/**
 * Writes results in batches: the first immediately; the next gather while it is being written and for a
 * moment after, so a result costs fewer statements the busier it is. Retries while the database is away; an
 * attempt that is never written is repeated under the same number once the lease ends.
 */
export function createAttemptRecorder(deps: { db: Db; log: Log }) {
  let waiting: AttemptResult[] = [];
  let isAway = false;

  const loop = startLoop({
    everyMs: Number.POSITIVE_INFINITY,
    // A database that is away is not queried more often, however many results arrive.
    gapMs: () => (isAway ? RETRY_MS : GATHER_MS),
    retryMs: 0,
    waitsFirst: true,
    async run() {
      // Results from the same turn of the event loop are written together.
      await immediate();
      await writeBatch();
      // More results are left than one statement takes, and perhaps none will arrive to wake the loop.
      if (waiting.length > 0) loop.wake();
      return waiting.length >= BATCH_MAX;
    },
    onError(err) {
      isAway = true;
      deps.log.warn({ err, attempts: waiting.length }, 'recording webhook attempts failed, trying again');
    },
  });

  async function writeBatch(): Promise<void> {
    const batch = waiting.slice(0, BATCH_MAX);
    if (batch.length === 0) return;
    waiting = waiting.slice(BATCH_MAX);
    try {
      await recordAttempts(deps.db, batch);
      isAway = false;
    } catch (err) {
      waiting = [...batch, ...waiting];
      throw err;
    }
  }

  return {
    add(result: AttemptResult): void {
      waiting.push(result);
      loop.wake();
    },
    /** Results not written yet: a claim while many wait would only add to them. */
    backlog: () => waiting.length,
    /** Tries once more to write everything; resolves when it is written or given up. */
    async stop(): Promise<void> {
      await loop.stop();
      try {
        while (waiting.length > 0) await writeBatch();
      } catch (err) {
        deps.log.warn({ err, attempts: waiting.length }, 'gave up recording webhook attempts');
        waiting = [];
      }
    },
  };
}
