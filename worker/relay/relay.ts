import { type Broker, NoSuchQueue } from '@posthorn/core/platform/broker/broker.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import {
  byQueueOfOwner,
  markPublished,
  readUnfinished,
  readUnpublished,
  type WakeUp,
  wakeUpsOf,
} from '@posthorn/core/sending/publish-outbox.ts';

const BATCH = 1_000;
/** A published row is marked as such if it still exists after this time: most are finished by then. */
const MARK_AFTER_MS = 250;
/** Notifications can be lost: a row seen in two successive looks was announced by nobody else. */
const POLL_MS = 500;
/** A row published this long ago and still not finished is published again (SND-37). */
const REPUBLISH_AFTER_MS = 30_000;
const SWEEP_MS = 10_000;
/** After a failed round the broker is away; its return wakes the relay anyway. */
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
  /** Absent: nobody listens. */
  trace?: Trace | undefined;
  /** One worker relays at a time. Two at once is harmless: a wake-up is published twice. */
  isLeader(): boolean;
}

/**
 * Moves the outbox to the broker. A broker message is a wake-up: it lists the instances that have work, and
 * up to which row. Order and content stay in the database, so a broker that loses, repeats or reorders
 * messages only changes when a wake-up arrives, and the sweep repeats it (docs/decisions/0004-wake-ups.md).
 */
export function startRelay(deps: RelayDeps): Relay {
  let sweepAll = true;
  let lastSweepMs = 0;
  let isUrgent = true;
  /** The highest seq at the last look. */
  let seenSeq = 0;
  /** Rows we published and have not marked yet: seq to publishing time. */
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
      // With a backlog, each look would read all unmarked rows again.
      await markOld(deps, unmarked, looked.mayBeMore ? 0 : MARK_AFTER_MS);
      return looked.mayBeMore;
    },
    onError(err) {
      sweepAll = true;
      isUrgent = true;
      deps.log.debug({ err }, 'relay round failed');
    },
  });

  /** Publishes rows again that were published long ago and are not finished, or all unfinished rows. */
  async function sweep(): Promise<void> {
    const nowMs = deps.clock.now().getTime();
    if (!sweepAll && nowMs - lastSweepMs < SWEEP_MS) return;
    const before = new Date(sweepAll ? nowMs + 1 : nowMs - REPUBLISH_AFTER_MS);
    sweepAll = false;
    lastSweepMs = nowMs;
    await publish(deps, await readUnfinished(deps.db, before));
  }

  function wake(): void {
    isUrgent = true;
    loop.wake();
  }

  deps.bus.on('outbox', wake);
  deps.bus.onReset((up) => up && wake());
  // The broker came back and may be empty: publish everything unfinished again.
  deps.broker.onUp(() => {
    sweepAll = true;
    unmarked.clear();
    wake();
  });
  return { wake, stop: loop.stop };
}

/** Publishes unpublished rows up to `upToSeq` and adds them to `unmarked`; removes finished rows from it. */
async function publishNew(
  deps: Pick<RelayDeps, 'db' | 'broker' | 'trace'>,
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
  const sinceMs = performance.now();
  await publish(deps, wakeUpsOf(due));
  const nowMs = performance.now();
  for (const { trace_id: traceId, instance_id } of deps.trace ? due : [])
    if (traceId !== null)
      deps.trace?.({
        traceId,
        name: 'publish',
        kind: 'producer',
        durationMs: nowMs - sinceMs,
        attributes: { 'posthorn.instance_id': instance_id },
      });
  for (const { seq } of due) unmarked.set(seq, nowMs);
  return { lastSeq, mayBeMore: !isAll };
}

/** The next relay publishes unmarked rows again: one extra wake-up, which finds nothing to do. */
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

/**
 * Publishes one broker message per owner, all concurrently. Rejects if any was not confirmed; an owner whose queue went
 * with its connection looks by itself as soon as it has the next one.
 */
async function publish(
  { db, broker }: Pick<RelayDeps, 'db' | 'broker'>,
  wakeUps: readonly WakeUp[],
): Promise<void> {
  if (wakeUps.length === 0) return;
  await Promise.all(
    [...(await byQueueOfOwner(db, wakeUps))].map(([queue, instances]) =>
      broker.publish(queue, { instances }).catch((err) => {
        if (!(err instanceof NoSuchQueue)) throw err;
      }),
    ),
  );
}
