import { type Lease, leaseOfInstance } from '@posthorn/core/instances/lock-leases.ts';
import type { Consumer } from '@posthorn/core/platform/broker/broker.ts';
import type { InstanceSession } from './session-context.ts';

/** Longer than a statement may take: rows that were read before an instance left are gone by then. */
const REMEMBERED_MS = 60_000;

type InstanceLease = ReturnType<typeof leaseOfInstance>;

interface HeldSession {
  lease: InstanceLease;
  session: InstanceSession;
}

export interface OwnedShard {
  lease: Lease;
  consumer: Promise<Consumer | null>;
  sessions: Map<string, HeldSession>;
  /** Instances that are moving to another shard, with the session that they had here. */
  leaving: Map<string, { session: InstanceSession | null; left: Promise<void> }>;
  /** Leases of instances without a session, for calls that need none. */
  leasesWithoutSession: Map<string, InstanceLease>;
}

/** The shards that this worker owns, with the sessions of their instances. */
export type HeldShards = ReturnType<typeof createHeldShards>;

// long: small functions over three maps that have to agree
export function createHeldShards() {
  const owned = new Map<number, OwnedShard>();
  /** By instance: asked for each send, so not by going through the shards. */
  const sessions = new Map<string, HeldSession>();
  /** Instances that moved away, and when. */
  const goneAtMs = new Map<string, number>();

  function drop(instanceId: string): HeldSession | null {
    const held = sessions.get(instanceId) ?? null;
    sessions.delete(instanceId);
    if (held) owned.get(held.lease.shard)?.sessions.delete(instanceId);
    return held;
  }

  function forgetGone(): void {
    const longAgoMs = performance.now() - REMEMBERED_MS;
    for (const [id, atMs] of goneAtMs) {
      if (atMs > longAgoMs) return;
      goneAtMs.delete(id);
    }
  }

  return {
    shards: () => [...owned.keys()],
    shard: (shard: number) => owned.get(shard),
    add({ lease, consumer }: Pick<OwnedShard, 'lease' | 'consumer'>): void {
      const empty = { sessions: new Map(), leaving: new Map(), leasesWithoutSession: new Map() };
      owned.set(lease.shard, { lease, consumer, ...empty });
    },
    /** Its sessions are not found any more; the caller stops them. */
    remove(shard: number): OwnedShard | null {
      const removed = owned.get(shard) ?? null;
      owned.delete(shard);
      for (const id of removed?.sessions.keys() ?? []) sessions.delete(id);
      return removed;
    },
    find: (instanceId: string): InstanceSession | null => sessions.get(instanceId)?.session ?? null,
    entries: () => [...sessions],
    sessions: () => [...sessions.values()].map(({ session }) => session),
    *queues() {
      for (const [id, { session }] of sessions) yield [id, session.queue] as const;
    },
    put(instanceId: string, held: HeldSession): void {
      sessions.set(instanceId, held);
      owned.get(held.lease.shard)?.sessions.set(instanceId, held);
    },
    drop,
    /** False while it leaves, and for a row that was read before it had left. */
    mayOpen: (instanceId: string, { leaving }: OwnedShard, loadedAtMs: number): boolean =>
      !leaving.has(instanceId) && (goneAtMs.get(instanceId) ?? Number.NEGATIVE_INFINITY) < loadedAtMs,
    leaseFor(instanceId: string, shard: number): Lease | null {
      const home = owned.get(shard);
      if (!home || home.leaving.has(instanceId)) return null;
      const known = home.sessions.get(instanceId)?.lease ?? home.leasesWithoutSession.get(instanceId);
      if (known) return known;
      const lease = leaseOfInstance(home.lease);
      home.leasesWithoutSession.set(instanceId, lease);
      return lease;
    },
    /**
     * Closes what there is of an instance, so that nothing is sent or written for it, and then runs `move`, which says
     * whether it is in another shard now. Rejects as `move` does; null when this worker does not own the shard.
     */
    leave(
      instanceId: string,
      shard: number,
      move: (lease: Lease) => Promise<boolean>,
    ): Promise<boolean> | null {
      const home = owned.get(shard);
      if (!home || home.leaving.has(instanceId)) return null;
      const held = drop(instanceId);
      const leases = [held?.lease, home.leasesWithoutSession.get(instanceId)];
      home.leasesWithoutSession.delete(instanceId);
      async function run(): Promise<boolean> {
        await held?.session.stop();
        await Promise.all(leases.map((lease) => lease?.hold.end()));
        return move(home!.lease);
      }
      const moving = run()
        .then((isGone) => {
          forgetGone();
          if (isGone) goneAtMs.set(instanceId, performance.now());
          return isGone;
        })
        .finally(() => home.leaving.delete(instanceId));
      const left = moving.then(
        () => undefined,
        () => undefined,
      );
      home.leaving.set(instanceId, { session: held?.session ?? null, left });
      return moving;
    },
  };
}
