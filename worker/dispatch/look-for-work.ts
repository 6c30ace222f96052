import type { Sql } from '@posthorn/core/platform/database/db.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import { findWaiting } from '@posthorn/core/sending/find-waiting.ts';
import type { InstanceQueue } from './instance-queue.ts';

/** Maximum delay before an instance queue learns of work without a wake-up. */
const LOOK_EVERY_MS = 2_000;
/** Instance queues per statement: 10 ms of index reads. */
const QUEUES_MAX = 2_000;

/**
 * Looks for tasks of all idle instance queues of this worker, in one statement. Wake-ups make sends fast;
 * this makes them certain if the relay is frozen, the broker is away, or its message is at a dead consumer.
 */
export function startLookingForWork(deps: {
  db: Sql;
  log: Log;
  queues(): Iterable<readonly [instanceId: string, queue: InstanceQueue]>;
}): Loop {
  async function look(stopping: AbortSignal): Promise<void> {
    const idle = new Map<string, { queue: InstanceQueue; seq: number }>();
    for (const [instanceId, queue] of deps.queues()) {
      const seq = queue.idleAt();
      if (seq !== null) idle.set(instanceId, { queue, seq });
    }
    const handled = [...idle].map(([instanceId, { seq }]) => ({ instanceId, seq }));
    for (let i = 0; i < handled.length && !stopping.aborted; i += QUEUES_MAX) {
      const waiting = await findWaiting(deps.db, handled.slice(i, i + QUEUES_MAX));
      for (const { instanceId, seq } of waiting) idle.get(instanceId)?.queue.wake(seq);
    }
  }

  return startLoop({
    everyMs: LOOK_EVERY_MS,
    waitsFirst: true,
    run: look,
    onError: (err) => deps.log.warn({ err }, 'looking for work failed, will be retried'),
  });
}
