import { apiError } from '@posthorn/contract/api-error.ts';
import { INBOX_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Log } from '../platform/process/log.ts';
import type { Metrics } from '../platform/process/metrics.ts';

/** Bounds what waits of a network's posts for each instance (INS-26). */
export interface InboxRoom {
  /**
   * Stores a post of this size with `store`. Throws 503 SERVICE_UNAVAILABLE with Retry-After while {@link INBOX_MAX_BYTES}
   * wait for the instance: the network posts it again.
   */
  keep<T>(instanceId: string, sizeBytes: number, store: () => Promise<T>): Promise<T>;
}

/** A row with its place in the index, whatever is in it. */
const ROW_BYTES = 1_024;
/** A look reads every row of the instance, so there is one for so many bytes. Other processes may take as many unseen. */
const LOOK_EACH_BYTES = INBOX_MAX_BYTES / 8;
/** While an instance is full, the next look is this much later. */
const LOOK_AGAIN_MS = 2_000;
const RETRY_AFTER_S = '60';
/** Instances that are remembered; one that was forgotten costs a look. */
const KNOWN_MAX = 10_000;

interface Waiting {
  /** As this process knows it: what the last look found, and what was taken since. */
  bytes: number;
  takenSinceLook: number;
  /** Taken and not stored yet: a look may not find it. */
  underWay: number;
  lookedAtMs: number;
  isFull: boolean;
  look: Promise<void> | null;
}

export function createInboxRoom(deps: {
  db: Db;
  clock: Clock;
  log: Pick<Log, 'warn'>;
  metrics: Metrics;
}): InboxRoom {
  const known = new Map<string, Waiting>();
  const countRefused = deps.metrics.counter(
    'posthorn_network_posts_refused_total',
    'Posts of a network that were refused because too much waits for their instance',
  );

  function waitingOf(instanceId: string): Waiting {
    const found = known.get(instanceId);
    if (found) return found;
    if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value!);
    const fresh = {
      ...{ bytes: 0, takenSinceLook: Number.POSITIVE_INFINITY, underWay: 0, lookedAtMs: 0 },
      ...{ isFull: false, look: null },
    };
    known.set(instanceId, fresh);
    return fresh;
  }

  async function look(instanceId: string, waiting: Waiting): Promise<void> {
    const { rows } = await deps.db.query<{ bytes: number }>({
      name: 'network-inbox-bytes',
      text: `SELECT coalesce(sum(greatest(length(body), $2)), 0)::float8 AS bytes FROM network_inbox
             WHERE instance_id = $1`,
      values: [instanceId, ROW_BYTES],
    });
    waiting.bytes = rows[0]!.bytes + waiting.underWay;
    waiting.takenSinceLook = 0;
    waiting.lookedAtMs = deps.clock.now().getTime();
  }

  function isLookDue({ bytes, takenSinceLook, lookedAtMs }: Waiting, cost: number): boolean {
    if (takenSinceLook + cost > LOOK_EACH_BYTES) return true;
    return bytes + cost > INBOX_MAX_BYTES && deps.clock.now().getTime() - lookedAtMs >= LOOK_AGAIN_MS;
  }

  return {
    async keep(instanceId, sizeBytes, store) {
      const cost = Math.max(sizeBytes, ROW_BYTES);
      const waiting = waitingOf(instanceId);
      if (isLookDue(waiting, cost)) {
        waiting.look ??= look(instanceId, waiting).finally(() => {
          waiting.look = null;
        });
        await waiting.look;
      }
      const isFull = waiting.bytes + cost > INBOX_MAX_BYTES;
      if (isFull && !waiting.isFull)
        deps.log.warn(
          { instance_id: instanceId, waiting_bytes: waiting.bytes },
          'too many posts of the network wait for an instance: further ones are refused, and come again',
        );
      waiting.isFull = isFull;
      if (isFull) {
        countRefused();
        throw apiError('SERVICE_UNAVAILABLE', {
          cause: new Error('too much waits for the instance'),
          headers: { 'retry-after': RETRY_AFTER_S },
        });
      }
      waiting.bytes += cost;
      waiting.takenSinceLook += cost;
      waiting.underWay += cost;
      try {
        return await store();
      } finally {
        waiting.underWay -= cost;
      }
    },
  };
}
