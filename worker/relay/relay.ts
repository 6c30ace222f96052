import { shardQueue } from '@posthorn/core/instances/shard.ts';
import {
  markPublished,
  readUnfinished,
  readUnpublished,
  type WakeUp,
} from '@posthorn/core/messages/publish-outbox.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { startLoop } from '@posthorn/core/platform/loop.ts';

const BATCH = 1_000;
/** A notification may be lost: the outbox is looked at this often anyway. */
const POLL_MS = 500;
/** Published and still not finished after this long: published again (SND-37). */
const REPUBLISH_AFTER_MS = 30_000;
const SWEEP_MS = 10_000;
/** After a failed round: the broker is away; its return wakes us anyway. */
const BACK_OFF_MS = 500;

export interface Relay {
  /** There are new rows: look now. */
  wake(): void;
  stop(): Promise<void>;
}

export interface RelayDeps {
  db: Db;
  broker: Broker;
  bus: Bus;
  clock: Clock;
  log: Log;
  /** One worker relays at a time. Two for a moment is harmless: a wake-up is published twice. */
  isLeader(): boolean;
}

/**
 * Moves the outbox to the broker. A message there is a wake-up: which instances have work, and up to
 * which row. Order and content stay in the database, so a broker that loses, repeats or reorders
 * messages changes nothing but the time of a wake-up, which the sweep repeats
 * (docs/decisions/0004-wake-ups.md).
 */
export function startRelay(deps: RelayDeps): Relay {
  let sweepAll = true;
  let lastSweepMs = 0;

  const loop = startLoop({
    everyMs: POLL_MS,
    retryMs: BACK_OFF_MS,
    async run() {
      if (!deps.isLeader() || !deps.broker.isUp()) return false;
      await sweep();
      return publishNew(deps);
    },
    onError(err) {
      sweepAll = true;
      deps.log.debug({ err }, 'relay round failed');
    },
  });

  /** Publishes again what was published long ago and is not finished, or everything that is not. */
  async function sweep(): Promise<void> {
    const nowMs = deps.clock.now().getTime();
    if (!sweepAll && nowMs - lastSweepMs < SWEEP_MS) return;
    const before = new Date(sweepAll ? nowMs + 1 : nowMs - REPUBLISH_AFTER_MS);
    sweepAll = false;
    lastSweepMs = nowMs;
    await publish(deps.broker, await readUnfinished(deps.db, before));
  }

  deps.bus.on('outbox', loop.wake);
  deps.bus.onReset((up) => up && loop.wake());
  // The broker came back, perhaps empty: everything unfinished is published again.
  deps.broker.onUp(() => {
    sweepAll = true;
    loop.wake();
  });
  return loop;
}

/** Publishes what is new; true when there may be more. */
async function publishNew(deps: { db: Db; broker: Broker; clock: Clock }): Promise<boolean> {
  const { wakeUps, seqs } = await readUnpublished(deps.db, BATCH);
  if (seqs.length === 0) return false;
  await publish(deps.broker, wakeUps);
  await markPublished(deps.db, seqs, deps.clock.now());
  return seqs.length === BATCH;
}

/** One broker message a shard, all in flight at once. Rejects when any was not confirmed. */
async function publish(broker: Broker, wakeUps: readonly WakeUp[]): Promise<void> {
  const byShard = new Map<number, WakeUp[]>();
  for (const wakeUp of wakeUps) {
    const list = byShard.get(wakeUp.shard);
    if (list) list.push(wakeUp);
    else byShard.set(wakeUp.shard, [wakeUp]);
  }
  await Promise.all(
    [...byShard].map(([shard, instances]) => broker.publish(shardQueue(shard), { instances })),
  );
}
