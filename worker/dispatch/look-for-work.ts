import { setTimeout as delay } from 'node:timers/promises';
import { findWaiting } from '@posthorn/core/messages/find-waiting.ts';
import type { Sql } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { Lane } from './instance-queue.ts';

/** How late a lane learns of work that nobody told it of. */
const LOOK_EVERY_MS = 2_000;
/** Lanes asked for in one statement: 10 ms of an index. */
const LANES_MAX = 2_000;

/**
 * Looks for the tasks of all idle lanes of this worker, in one statement. Wake-ups make a send quick; this
 * makes it certain, with the relay frozen, the broker away or its message at a consumer that is dead.
 */
export function startLookingForWork(deps: {
  db: Sql;
  log: Log;
  lanes(): Iterable<readonly [instanceId: string, lane: Lane]>;
}): { stop(): Promise<void> } {
  const stopping = new AbortController();

  async function look(): Promise<void> {
    const idle = new Map<string, { lane: Lane; seq: number }>();
    for (const [instanceId, lane] of deps.lanes()) {
      const seq = lane.idleAt();
      if (seq !== null) idle.set(instanceId, { lane, seq });
    }
    const handled = [...idle].map(([instanceId, { seq }]) => ({ instanceId, seq }));
    for (let i = 0; i < handled.length && !stopping.signal.aborted; i += LANES_MAX) {
      const waiting = await findWaiting(deps.db, handled.slice(i, i + LANES_MAX));
      for (const { instanceId, seq } of waiting) idle.get(instanceId)?.lane.wake(seq);
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await delay(LOOK_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      await look().catch((err) => deps.log.warn({ err }, 'looking for work failed, will be tried again'));
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
