import { setImmediate as immediate } from 'node:timers/promises';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import { type AttemptResult, recordAttempts } from './record-attempts.ts';

const BATCH_MAX = 500;
const RETRY_MS = 500;
/** Nobody waits for what gathers meanwhile, and one in a statement of four costs half of one alone. */
const GATHER_MS = 20;

/**
 * Writes results in batches: the first at once, and while that is on its way and for a moment after it the next
 * gather, so that the busier it is the fewer statements a result costs. Keeps trying while the database is away; what is
 * never written is attempted again under the same number once the lease ends.
 */
export function createAttemptRecorder(deps: { db: Db; log: Log }) {
  let waiting: AttemptResult[] = [];
  let isAway = false;

  const loop = startLoop({
    everyMs: Number.POSITIVE_INFINITY,
    // Whatever comes meanwhile, a database that is away is not asked more often.
    gapMs: () => (isAway ? RETRY_MS : GATHER_MS),
    retryMs: 0,
    waitsFirst: true,
    async run() {
      // What ends in the same turn of the event loop goes together.
      await immediate();
      await writeBatch();
      // What is left of more than one statement takes: nobody may come any more to wake for it.
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
    /** Resolves when everything given so far is written, or given up: once more is tried, and no further. */
    async stop(): Promise<void> {
      await loop.stop();
      try {
        while (waiting.length > 0) await writeBatch();
      } catch (err) {
        deps.log.warn({ err, attempts: waiting.length }, 'recording webhook attempts failed, given up');
        waiting = [];
      }
    },
  };
}
