import { loadSessionRows, type SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import { type Lease, leaseOfInstance } from '@posthorn/core/instances/lock-leases.ts';
import { countShards, DEFAULT_SHARDS, shardQueue } from '@posthorn/core/instances/shard.ts';
import type { Broker, Consumer } from '@posthorn/core/platform/broker/broker.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { AcceptedFor } from '@posthorn/core/sending/local-queues.ts';
import { type WakeUp, wakeUpsIn } from '@posthorn/core/sending/publish-outbox.ts';
import { LOOK_AGAIN } from '@posthorn/core/workers/members.ts';
import { startLookingForWork } from '../dispatch/look-for-work.ts';
import { createHeldShards, type HeldShards, type OwnedShard } from './held-shards.ts';
import { startInstanceSession } from './instance-session.ts';
import { startMover } from './move-instances.ts';
import type { InstanceSession, SessionDeps } from './session-context.ts';

/** Notifications can be lost, so rows are also compared at this interval. */
const COMPARE_MS = 5_000;
const PREFETCH = 64;

export interface SessionManagerDeps extends SessionDeps {
  broker: Broker;
}

/** The sessions of every shard this worker owns. */
export interface SessionManager {
  acquire(leases: readonly Lease[]): void;
  /** Resolves when the shard's sessions are closed and their results are recorded; closes those of a lost one first. */
  release(shard: number, how: 'released' | 'lost'): Promise<void>;
  counts(): { shards: number; sessions: number };
  /** The longest time that an instance here has had work without progress. */
  lateMs(): number;
  /** This worker's session of an instance, or null. */
  find(instanceId: string): InstanceSession | null;
  /** The lease for what is done to an instance, with or without a session; null when it is elsewhere, or about to be. */
  leaseFor(instanceId: string, shard: number): Lease | null;
  /** Wakes the queues of these instances; true if all of them are here. */
  wakeQueues(accepted: readonly AcceptedFor[]): boolean;
  /** Wake-ups from the broker. */
  onWakeUps(wakeUps: readonly WakeUp[]): void;
  /** Wake-ups may have been lost: looks for work of all instances. */
  lookForWork(): void;
  stop(): Promise<void>;
}

/**
 * Whether an instance without a session here needs one. A row that still says connected may have been left by
 * a crashed worker: it would accept sends that nobody makes.
 */
function needsAttention({ desired, state, credentials }: SessionRow): boolean {
  if (desired === 'connected') return true;
  if (desired === 'logged_out' && (credentials || state === 'BANNED')) return true;
  return state === 'CONNECTED' || state === 'PAIRING' || state === 'HARD_PAUSED';
}

export function startSessionManager(deps: SessionManagerDeps): SessionManager {
  const held = createHeldShards();
  const lookAt = (instanceId: string) => lookAtOne(deps, held, instanceId);
  const mover = startMover({ ...deps, held, lookAt });
  const comparing = startLoop({
    everyMs: COMPARE_MS,
    waitsFirst: true,
    async run() {
      const rows = await compareAll(deps, held);
      if (rows) mover.judge(rows, await countShards(deps.db));
    },
    onError: (err) => deps.log.warn({ err }, 'comparing the instances failed, will be retried'),
  });
  const looking = startLookingForWork({ ...deps, queues: () => held.queues() });
  const onWakeUps = (wakeUps: readonly WakeUp[]) => {
    for (const { instanceId, upToSeq } of wakeUps) held.find(instanceId)?.queue.wake(upToSeq);
  };
  deps.bus.on('instance', (instanceId) => void lookAt(instanceId));
  deps.bus.on('inbox', (instanceId) => held.find(instanceId)?.lookAtInbox());
  deps.bus.on('workers', (payload) => payload === LOOK_AGAIN && comparing.wake());
  deps.bus.onReset((up) => {
    if (!up) return;
    comparing.wake();
    for (const session of held.sessions()) session.lookAtInbox();
  });
  return {
    acquire(leases) {
      for (const lease of leases) held.add({ lease, consumer: consumeOfShard(deps, lease.shard, onWakeUps) });
      const loadedAtMs = performance.now();
      void load(deps, { shards: leases.map(({ shard }) => shard) }).then((rows) =>
        adopt(deps, held, rows, loadedAtMs),
      );
    },
    release: (shard, how) => release(held, shard, how),
    find: (instanceId) => held.find(instanceId),
    leaseFor: (instanceId, shard) => held.leaseFor(instanceId, shard),
    wakeQueues(accepted) {
      let areAllHere = true;
      for (const { instanceId, page } of accepted) {
        const queue = held.find(instanceId)?.queue;
        if (!queue) areAllHere = false;
        else if (page) queue.wakeWith(page);
        else queue.wake();
      }
      return areAllHere;
    },
    onWakeUps,
    lookForWork: looking.wake,
    counts: () => ({ shards: held.shards().length, sessions: held.sessions().length }),
    lateMs: () => Math.max(0, ...held.sessions().map((session) => session.lateMs())),
    async stop() {
      await Promise.all([comparing.stop(), looking.stop(), mover.stop()]);
      await Promise.all(held.shards().map((shard) => release(held, shard, 'released')));
    },
  };
}

/**
 * The queue that a relay of the release before publishes to. The wake-up is acked immediately: from here on the database
 * holds the pending work, and a new owner reads all of it. If the queue cannot be consumed yet, that costs time, not messages.
 */
async function consumeOfShard(
  deps: SessionManagerDeps,
  shard: number,
  onWakeUps: (wakeUps: readonly WakeUp[]) => void,
): Promise<Consumer | null> {
  // The release before publishes to these queues, and has no more of them.
  if (shard >= DEFAULT_SHARDS) return null;
  const queue = shardQueue(shard);
  return deps.broker
    .declare([queue])
    .then(() =>
      deps.broker.consume(queue, { prefetch: PREFETCH }, async (body) => onWakeUps(wakeUpsIn(body))),
    )
    .catch((err) => {
      deps.log.warn({ err, shard }, 'consuming the wake-ups of a shard failed');
      return null;
    });
}

async function release(held: HeldShards, shard: number, how: 'released' | 'lost'): Promise<void> {
  const owned = held.remove(shard);
  if (!owned) return;
  const closeConsumer = async () => {
    const closing = owned.consumer.then((consumer) => consumer?.close());
    // A consumer that waits for a broker that is away closes when it begins: the next owner does not wait for that.
    if (await Promise.race([owned.consumer, null])) await closing;
  };
  const isLost = how === 'lost';
  const stopSessions = () =>
    Promise.all([
      ...[...owned.sessions.values()].map(({ session }) => session.stop(how)),
      ...[...owned.leaving.values()].map(async ({ session, left }) => {
        if (isLost) await session?.stop(how);
        await left;
      }),
    ]);
  if (isLost) await Promise.all([closeConsumer(), stopSessions()]);
  else await closeConsumer().then(stopSessions);
}

async function lookAtOne(deps: SessionManagerDeps, held: HeldShards, instanceId: string): Promise<void> {
  const session = held.find(instanceId);
  if (session) return session.reconcile();
  const loadedAtMs = performance.now();
  adopt(deps, held, await load(deps, { instanceId }), loadedAtMs);
}

async function compareAll(deps: SessionManagerDeps, held: HeldShards): Promise<SessionRow[] | null> {
  const loadedAtMs = performance.now();
  const rows = await load(deps, { shards: held.shards() });
  await dropAbsent(deps, held, rows);
  adopt(deps, held, rows, loadedAtMs);
  return rows;
}

/** Rows of shards owned now; null if the database is away: then nothing changes. */
async function load(
  deps: SessionManagerDeps,
  where: Parameters<typeof loadSessionRows>[1],
): Promise<SessionRow[] | null> {
  if ('shards' in where && where.shards.length === 0) return [];
  return loadSessionRows(deps.db, where).catch((err) => {
    deps.log.warn({ err }, 'reading the instances failed');
    return null;
  });
}

/** `loadedAtMs`: when the rows began to be read; an instance that has left since is not taken back. */
function adopt(
  deps: SessionManagerDeps,
  held: HeldShards,
  rows: SessionRow[] | null,
  loadedAtMs: number,
): void {
  for (const row of rows ?? []) {
    const owned = held.shard(row.shard);
    if (!owned || !held.mayOpen(row.id, owned, loadedAtMs)) continue;
    const session = held.find(row.id);
    if (session) {
      if (session.differsFrom(row)) session.reconcile();
    } else if (needsAttention(row)) open(deps, held, owned, row);
  }
}

function open(deps: SessionManagerDeps, held: HeldShards, owned: OwnedShard, row: SessionRow): void {
  const lease = leaseOfInstance(owned.lease);
  held.put(row.id, { lease, session: startInstanceSession(deps, lease, row) });
}

/** Stops the sessions of instances that are deleted, or that somebody moved by hand. */
async function dropAbsent(
  deps: SessionManagerDeps,
  held: HeldShards,
  rows: SessionRow[] | null,
): Promise<void> {
  if (!rows) return;
  const there = new Set(rows.map((row) => row.id));
  for (const [id, { lease, session }] of held.entries()) {
    if (there.has(id)) continue;
    // A shard acquired since these rows were read has newer sessions: read this one alone.
    const found = await load(deps, { instanceId: id });
    if (!found || found[0]?.shard === lease.shard || held.find(id) !== session) continue;
    held.drop(id);
    await session.stop();
  }
}
