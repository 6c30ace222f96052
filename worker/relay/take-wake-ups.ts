import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import { wakeUpsIn } from '@posthorn/core/sending/publish-outbox.ts';
import { nameQueue } from '@posthorn/core/workers/members.ts';
import type { Membership } from '../ownership/membership.ts';
import type { SessionManager } from '../sessions/session-manager.ts';

const PREFETCH = 64;
const RETRY_MS = 1_000;

/**
 * Takes this worker's wake-ups from a queue of its own, whose name its row tells the relay. Once the relay knows a new
 * queue, the worker looks for work, which finds any wake-up that went to a former queue: so none is lost, and none has
 * to be kept.
 */
export function startTakingWakeUps(deps: {
  db: Db;
  broker: Broker;
  log: Log;
  membership: Membership;
  sessions: Pick<SessionManager, 'onWakeUps' | 'lookForWork'>;
}): Pick<Loop, 'stop'> {
  const { broker, log, membership, sessions } = deps;
  let queue: string | null = null;
  const naming = startLoop({
    everyMs: Number.POSITIVE_INFINITY,
    retryMs: RETRY_MS,
    waitsFirst: true,
    async run() {
      const id = membership.id();
      if (queue === null || id === null) return;
      await nameQueue(deps.db, id, queue);
      sessions.lookForWork();
    },
    onError: (err) => log.debug({ err }, 'naming the queue of the wake-ups failed, will be retried'),
  });
  membership.onAlive(naming.wake);
  const consumer = broker
    .consumeOwn(
      { prefetch: PREFETCH },
      async (body) => sessions.onWakeUps(wakeUpsIn(body)),
      (name) => {
        queue = name;
        naming.wake();
      },
    )
    .catch((err) => {
      log.warn({ err }, 'taking wake-ups from the broker failed');
      return null;
    });
  return {
    async stop() {
      await naming.stop();
      // Not waited for: a broker that is away would hold it up, and one more wake-up finds nothing.
      void consumer.then((taking) => taking?.close());
    },
  };
}
