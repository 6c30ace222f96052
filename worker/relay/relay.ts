import { shardQueue } from '@posthorn/core/instances/shard.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import {
  markPublished,
  readUnfinished,
  readUnpublished,
  type WakeUp,
  wakeUpsOf,
} from '@posthorn/core/sending/publish-outbox.ts';

const BATCH = 1_000;
/** What is published is marked so when it is still there after this long: most of it is finished by then. */
const MARK_AFTER_MS = 250;
/** A notification may be lost: what was there at one look and still is at the next, nobody else has woken for. */
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
  let isUrgent = true;
  /** The highest seq at the last look. */
  let seenSeq = 0;
  /** Published by us and not marked yet, by seq, with when. */
  const unmarked = new Map<number, number>();

  const loop = startLoop({
    everyMs: POLL_MS,
    retryMs: BACK_OFF_MS,
    async run() {
      if (!deps.isLeader() || !deps.broker.isUp()) return false;
      await sweep();
      const upToSeq = isUrgent ? Number.POSITIVE_INFINITY : seenSeq;
      isUrgent = false;
      const looked = await publishNew(deps, { upToSeq, unmarked });
      seenSeq = looked.lastSeq;
      isUrgent ||= looked.mayBeMore;
      // With a backlog each look would read all that is not marked again.
      await markOld(deps, unmarked, looked.mayBeMore ? 0 : MARK_AFTER_MS);
      return looked.mayBeMore;
    },
    onError(err) {
      sweepAll = true;
      isUrgent = true;
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

  function wake(): void {
    isUrgent = true;
    loop.wake();
  }

  deps.bus.on('outbox', wake);
  deps.bus.onReset((up) => up && wake());
  // The broker came back, perhaps empty: everything unfinished is published again.
  deps.broker.onUp(() => {
    sweepAll = true;
    unmarked.clear();
    wake();
  });
  return { wake, stop: loop.stop };
}

/** Publishes what is unpublished and not above `upToSeq`, and notes it in `unmarked`; forgets there what is gone. */
async function publishNew(
  deps: { db: Db; broker: Broker },
  { upToSeq, unmarked }: { upToSeq: number; unmarked: Map<number, number> },
): Promise<{ lastSeq: number; mayBeMore: boolean }> {
  const limit = BATCH + unmarked.size;
  const unpublished = await readUnpublished(deps.db, limit);
  const lastSeq = unpublished.at(-1)?.seq ?? 0;
  const isAll = unpublished.length < limit;
  const left = new Set(unpublished.map(({ seq }) => seq));
  for (const seq of unmarked.keys()) if (!left.has(seq) && (isAll || seq < lastSeq)) unmarked.delete(seq);
  const due = unpublished.filter(({ seq }) => seq <= upToSeq && !unmarked.has(seq));
  if (due.length === 0) return { lastSeq, mayBeMore: false };
  await publish(deps.broker, wakeUpsOf(due));
  const nowMs = performance.now();
  for (const { seq } of due) unmarked.set(seq, nowMs);
  return { lastSeq, mayBeMore: !isAll };
}

/** A relay that comes after this one publishes again what is not marked: a wake-up more, which finds nothing to do. */
async function markOld(
  deps: { db: Db; clock: Clock },
  unmarked: Map<number, number>,
  ageMs: number,
): Promise<void> {
  const untilMs = performance.now() - ageMs;
  const old = [...unmarked].filter(([, publishedAtMs]) => publishedAtMs <= untilMs).map(([seq]) => seq);
  if (old.length === 0) return;
  await markPublished(
    deps.db,
    old.sort((a, b) => a - b),
    deps.clock.now(),
  );
  for (const seq of old) unmarked.delete(seq);
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
