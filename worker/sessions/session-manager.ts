import type { Lease } from '@posthorn/core/instances/hold-leases.ts';
import { loadSessionRows, type SessionRow } from '@posthorn/core/instances/load-sessions.ts';
import { shardQueue } from '@posthorn/core/instances/shard.ts';
import type { WakeUp } from '@posthorn/core/messages/publish-outbox.ts';
import type { Broker, Consumer } from '@posthorn/core/platform/broker/broker.ts';
import { startLookingForWork } from '../dispatch/look-for-work.ts';
import { type InstanceSession, type SessionDeps, startInstanceSession } from './instance-session.ts';

/** Hints can be lost: rows are compared this often anyway. */
const COMPARE_MS = 5_000;
const PREFETCH = 64;

export interface SessionKeeperDeps extends SessionDeps {
  broker: Broker;
}

/** The sessions of every shard this worker owns. */
export interface SessionKeeper {
  acquire(lease: Lease): void;
  /** Resolves when the shard's sessions are closed and what they did is recorded. */
  release(shard: number): Promise<void>;
  counts(): { shards: number; sessions: number };
  /** The longest time that an instance here has had work that does not get on. */
  lateMs(): number;
  /** What is held of an instance, or null. */
  find(instanceId: string): InstanceSession | null;
  stop(): Promise<void>;
}

interface OwnedShard {
  lease: Lease;
  sessions: Map<string, InstanceSession>;
  consumer: Promise<Consumer | null>;
  released: boolean;
}

/**
 * Whether there is something to do for an instance that has no session here. One that says it is connected and
 * may not be was left so by a worker that is gone: it would take sends that nobody makes.
 */
function needsAttention({ wanted, state, credentials }: SessionRow): boolean {
  if (wanted === 'connected') return true;
  if (wanted === 'logged_out' && credentials) return true;
  return state === 'CONNECTED' || state === 'PAIRING';
}

export function startSessionKeeper(deps: SessionKeeperDeps): SessionKeeper {
  const shards = new Map<number, OwnedShard>();
  let comparing: Promise<void> | null = null;

  deps.bus.on('instance', (instanceId) => void lookAt(instanceId));
  deps.bus.onReset((up) => up && compareAll());
  const timer = setInterval(compareAll, COMPARE_MS);
  const looking = startLookingForWork({ ...deps, lanes });

  function* lanes() {
    for (const owned of shards.values())
      for (const [id, session] of owned.sessions) yield [id, session.lane] as const;
  }

  async function lookAt(instanceId: string): Promise<void> {
    for (const owned of shards.values()) {
      const session = owned.sessions.get(instanceId);
      if (session) return session.reconcile();
    }
    adopt(await load({ instanceId }));
  }

  function compareAll(): void {
    comparing ??= load({ shards: [...shards.keys()] })
      .then(async (rows) => {
        await dropDeleted(rows);
        adopt(rows);
      })
      .finally(() => {
        comparing = null;
      });
  }

  /** Rows of shards that are owned now; a database that is away means that nothing changes. */
  async function load(where: Parameters<typeof loadSessionRows>[1]): Promise<SessionRow[] | null> {
    if ('shards' in where && where.shards.length === 0) return [];
    return loadSessionRows(deps.db, where).catch((err) => {
      deps.log.warn({ err }, 'reading the instances failed');
      return null;
    });
  }

  function adopt(rows: SessionRow[] | null): void {
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

  async function dropDeleted(rows: SessionRow[] | null): Promise<void> {
    if (!rows) return;
    const there = new Set(rows.map((row) => row.id));
    for (const owned of shards.values()) {
      for (const [id, session] of owned.sessions) {
        if (there.has(id)) continue;
        // A shard acquired since these rows were read has newer sessions: ask for this one alone.
        const found = await load({ instanceId: id });
        if (!found || found.length > 0) continue;
        owned.sessions.delete(id);
        await session.stop();
      }
    }
  }

  function wake(owned: OwnedShard, body: unknown): void {
    for (const wakeUp of (body as { instances: WakeUp[] }).instances) {
      owned.sessions.get(wakeUp.instanceId)?.lane.wake(wakeUp.upToSeq);
    }
  }

  async function release(shard: number): Promise<void> {
    const owned = shards.get(shard);
    if (!owned) return;
    owned.released = true;
    shards.delete(shard);
    await (await owned.consumer)?.close();
    await Promise.all([...owned.sessions.values()].map((session) => session.stop()));
  }

  return {
    acquire(lease) {
      const owned: OwnedShard = {
        lease,
        sessions: new Map(),
        released: false,
        consumer: Promise.resolve(null),
      };
      // The wake-up is acked at once: from here on the database says what is to be done, and a new
      // owner looks at all of it. A queue that can't be consumed yet costs time, not messages.
      owned.consumer = deps.broker
        .consume(shardQueue(lease.shard), { prefetch: PREFETCH }, async (body) => wake(owned, body))
        .catch((err) => {
          deps.log.warn({ err, shard: lease.shard }, 'consuming the wake-ups of a shard failed');
          return null;
        });
      shards.set(lease.shard, owned);
      void load({ shards: [lease.shard] }).then(adopt);
    },
    release,
    find(instanceId) {
      for (const owned of shards.values()) {
        const session = owned.sessions.get(instanceId);
        if (session) return session;
      }
      return null;
    },
    counts: () => ({
      shards: shards.size,
      sessions: [...shards.values()].reduce((sum, owned) => sum + owned.sessions.size, 0),
    }),
    lateMs: () =>
      Math.max(
        0,
        ...[...shards.values()].flatMap((owned) =>
          [...owned.sessions.values()].map((session) => session.lateMs()),
        ),
      ),
    async stop() {
      clearInterval(timer);
      await Promise.all([comparing, looking.stop()]);
      await Promise.all([...shards.keys()].map((shard) => release(shard)));
    },
  };
}
