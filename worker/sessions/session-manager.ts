import { loadSessionRows, type SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { shardQueue } from '@posthorn/core/instances/shard.ts';
import type { Broker, Consumer } from '@posthorn/core/platform/broker/broker.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { AcceptedFor } from '@posthorn/core/sending/local-queues.ts';
import type { WakeUp } from '@posthorn/core/sending/publish-outbox.ts';
import { startLookingForWork } from '../dispatch/look-for-work.ts';
import { startInstanceSession } from './instance-session.ts';
import type { InstanceSession, SessionDeps } from './session-context.ts';

/** Notifications can be lost, so rows are also compared at this interval. */
const COMPARE_MS = 5_000;
const PREFETCH = 64;

export interface SessionManagerDeps extends SessionDeps {
  broker: Broker;
}

/** The sessions of every shard this worker owns. */
export interface SessionManager {
  acquire(lease: Lease): void;
  /** Resolves when the shard's sessions are closed and their results are recorded; closes those of a lost one first. */
  release(shard: number, how: 'released' | 'lost'): Promise<void>;
  counts(): { shards: number; sessions: number };
  /** The longest time that an instance here has had work without progress. */
  lateMs(): number;
  /** This worker's session of an instance, or null. */
  find(instanceId: string): InstanceSession | null;
  /** Wakes the queues of these instances; true if all of them are here. */
  wakeQueues(accepted: readonly AcceptedFor[]): boolean;
  stop(): Promise<void>;
}

interface OwnedShard {
  lease: Lease;
  sessions: Map<string, InstanceSession>;
  consumer: Promise<Consumer | null>;
  released: boolean;
}

/**
 * Whether an instance without a session here needs one. A row that still says connected may have been left by
 * a crashed worker: it would accept sends that nobody makes.
 */
function needsAttention({ desired, state, credentials }: SessionRow): boolean {
  if (desired === 'connected') return true;
  if (desired === 'logged_out' && credentials) return true;
  return state === 'CONNECTED' || state === 'PAIRING';
}

/** The owned shards with their sessions. */
type Shards = Map<number, OwnedShard>;

export function startSessionManager(deps: SessionManagerDeps): SessionManager {
  const shards: Shards = new Map();
  const comparing = startLoop({
    everyMs: COMPARE_MS,
    waitsFirst: true,
    run: () => compareAll(deps, shards),
    onError: (err) => deps.log.warn({ err }, 'comparing the instances failed, will be retried'),
  });
  const looking = startLookingForWork({ ...deps, queues: () => queuesOf(shards) });
  deps.bus.on('instance', (instanceId) => void lookAt(deps, shards, instanceId));
  deps.bus.on('inbox', (instanceId) => findSession(shards, instanceId)?.lookAtInbox());
  deps.bus.onReset((up) => {
    if (!up) return;
    comparing.wake();
    for (const session of sessionsOf(shards)) session.lookAtInbox();
  });
  return {
    acquire(lease) {
      shards.set(lease.shard, openShard(deps, lease));
      void load(deps, { shards: [lease.shard] }).then((rows) => adopt(deps, shards, rows));
    },
    release: (shard, how) => release(shards, shard, how),
    find: (instanceId) => findSession(shards, instanceId),
    wakeQueues(accepted) {
      let areAllHere = true;
      for (const { instanceId, page } of accepted) {
        const queue = findSession(shards, instanceId)?.queue;
        if (!queue) areAllHere = false;
        else if (page) queue.wakeWith(page);
        else queue.wake();
      }
      return areAllHere;
    },
    counts: () => ({ shards: shards.size, sessions: sessionsOf(shards).length }),
    lateMs: () => Math.max(0, ...sessionsOf(shards).map((session) => session.lateMs())),
    async stop() {
      await Promise.all([comparing.stop(), looking.stop()]);
      await Promise.all([...shards.keys()].map((shard) => release(shards, shard, 'released')));
    },
  };
}

function openShard(deps: SessionManagerDeps, lease: Lease): OwnedShard {
  const sessions = new Map<string, InstanceSession>();
  // The wake-up is acked immediately: from here on the database holds the pending work, and a new owner reads
  // all of it. If the queue cannot be consumed yet, that costs time, not messages.
  const consumer = deps.broker
    .consume(shardQueue(lease.shard), { prefetch: PREFETCH }, async (body) => {
      for (const wakeUp of (body as { instances: WakeUp[] }).instances) {
        sessions.get(wakeUp.instanceId)?.queue.wake(wakeUp.upToSeq);
      }
    })
    .catch((err) => {
      deps.log.warn({ err, shard: lease.shard }, 'consuming the wake-ups of a shard failed');
      return null;
    });
  return { lease, sessions, consumer, released: false };
}

async function release(shards: Shards, shard: number, how: 'released' | 'lost'): Promise<void> {
  const owned = shards.get(shard);
  if (!owned) return;
  owned.released = true;
  shards.delete(shard);
  const closeConsumer = async () => (await owned.consumer)?.close();
  const stopSessions = () =>
    Promise.all([...owned.sessions.values()].map((session) => session.stop({ isLost: how === 'lost' })));
  if (how === 'lost') await Promise.all([closeConsumer(), stopSessions()]);
  else await closeConsumer().then(stopSessions);
}

async function lookAt(deps: SessionManagerDeps, shards: Shards, instanceId: string): Promise<void> {
  const session = findSession(shards, instanceId);
  if (session) return session.reconcile();
  adopt(deps, shards, await load(deps, { instanceId }));
}

async function compareAll(deps: SessionManagerDeps, shards: Shards): Promise<void> {
  const rows = await load(deps, { shards: [...shards.keys()] });
  await dropDeleted(deps, shards, rows);
  adopt(deps, shards, rows);
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

function adopt(deps: SessionManagerDeps, shards: Shards, rows: SessionRow[] | null): void {
  for (const row of rows ?? []) {
    const owned = shards.get(row.shard);
    if (!owned || owned.released) continue;
    const session = owned.sessions.get(row.id);
    if (session) {
      if (session.differsFrom(row)) session.reconcile();
    } else if (needsAttention(row)) {
      owned.sessions.set(row.id, startInstanceSession(deps, owned.lease, row));
    }
  }
}

async function dropDeleted(
  deps: SessionManagerDeps,
  shards: Shards,
  rows: SessionRow[] | null,
): Promise<void> {
  if (!rows) return;
  const there = new Set(rows.map((row) => row.id));
  for (const owned of shards.values()) {
    for (const [id, session] of owned.sessions) {
      if (there.has(id)) continue;
      // A shard acquired since these rows were read has newer sessions: read this one alone.
      const found = await load(deps, { instanceId: id });
      if (!found || found.length > 0) continue;
      owned.sessions.delete(id);
      await session.stop();
    }
  }
}

function findSession(shards: Shards, instanceId: string): InstanceSession | null {
  for (const owned of shards.values()) {
    const session = owned.sessions.get(instanceId);
    if (session) return session;
  }
  return null;
}

function sessionsOf(shards: Shards): InstanceSession[] {
  return [...shards.values()].flatMap((owned) => [...owned.sessions.values()]);
}

function* queuesOf(shards: Shards) {
  for (const owned of shards.values())
    for (const [id, session] of owned.sessions) yield [id, session.queue] as const;
}
