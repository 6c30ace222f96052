import type { Lease } from '@posthorn/core/instances/hold-leases.ts';
import { SHARD_COUNT } from '@posthorn/core/instances/shard.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { createWaker } from '@posthorn/core/platform/waker.ts';
import { SHARD_LOCK, WORKER_LOCK } from '@posthorn/core/workers/members.ts';
import { fairShare, pickShards } from './fair-share.ts';
import type { LockConnection } from './lock-connection.ts';
import type { Membership } from './membership.ts';

const ROUND_MS = 500;

export interface ShardOwnerDeps {
  membership: Membership;
  log: Log;
  /** A shard is ours: open its sessions. */
  onAcquire(lease: Lease): void;
  /**
   * A shard is no longer ours, given back or lost: resolves when its sessions are closed. What is given back
   * is another's only then; what was lost may be another's already.
   */
  onRelease(shard: number): Promise<void>;
}

export interface ShardOwner {
  owned(): Lease[];
  /** Something could not be recorded under this lease: whoever has the shard, we don't. */
  giveUp(lease: Lease): void;
  /** Hands all shards over, then lets go. */
  stop(): Promise<void>;
}

/**
 * Owns this worker's fair share of the shards.
 *
 * A shard is owned by holding a session-level advisory lock on the connection of our membership: PostgreSQL
 * itself releases it the moment the process dies, and whoever declares a frozen one dead ends its connection
 * (docs/decisions/0015-owners-prove-life-by-time.md). The epoch, raised at each acquisition, fences writes of
 * a worker that does not know yet that it lost its shard.
 */
export function startShardOwner(deps: ShardOwnerDeps): ShardOwner {
  const { membership } = deps;
  const leases = new Map<number, Lease>();
  /** Shards whose sessions are still closing: not to be opened again before. */
  const closing = new Map<number, Promise<void>>();
  let stopping = false;
  const waker = createWaker();

  membership.onAlive(waker.wake);
  membership.onLost(() => {
    const shards = [...leases.keys()];
    leases.clear();
    if (shards.length > 0) deps.log.warn({ shards: shards.length }, 'shard locks lost');
    for (const shard of shards) void close(shard);
  });

  function close(shard: number): Promise<void> {
    const closed = deps
      .onRelease(shard)
      .catch((err) => deps.log.warn({ err, shard }, 'closing the sessions of a shard failed'))
      .finally(() => closing.get(shard) === closed && closing.delete(shard));
    closing.set(shard, closed);
    return closed;
  }

  async function round(current: LockConnection, self: number): Promise<void> {
    const { workers, taken } = await readLocks(current);
    const quota = fairShare(SHARD_COUNT, workers, self);
    const surplus = [...leases.keys()].slice(quota);
    await Promise.all(surplus.map((shard) => release(current, shard)));
    const wanted = pickShards(SHARD_COUNT, taken, self)
      .filter((shard) => !closing.has(shard))
      .slice(0, Math.max(0, quota - leases.size));
    for (const shard of wanted) await acquire(current, self, shard);
  }

  async function acquire(current: LockConnection, self: number, shard: number): Promise<void> {
    const got = await current.query<{ ok: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS ok', [
      SHARD_LOCK,
      shard,
    ]);
    if (!got.rows[0]?.ok) return;
    const raised = await raiseEpoch(current, self, shard).catch(async (err) => {
      // A writer of its former owner is still at it: not ours yet.
      await unlock(current, shard);
      deps.log.debug({ err, shard }, 'a shard could not be taken yet');
      return null;
    });
    // The connection may have ended in between: then the lock is gone too.
    if (raised === null || membership.connection() !== current) return;
    const lease = { shard, epoch: raised.epoch, afterCrash: raised.after_crash };
    leases.set(shard, lease);
    deps.onAcquire(lease);
  }

  async function raiseEpoch(current: LockConnection, self: number, shard: number): Promise<Raised> {
    const raised = await current.query<Raised>(
      `UPDATE shards SET epoch = last.epoch + 1, owner = $2, owner_id = $3, acquired_at = now()
       FROM (SELECT shard, epoch, owner FROM shards WHERE shard = $1 FOR UPDATE) AS last
       WHERE shards.shard = last.shard
       RETURNING shards.epoch, last.owner IS NOT NULL AS after_crash`,
      [shard, membership.name, self],
    );
    return raised.rows[0]!;
  }

  async function release(current: LockConnection, shard: number): Promise<void> {
    const lease = leases.get(shard);
    leases.delete(shard);
    await close(shard);
    if (membership.connection() !== current) return;
    if (lease) await handOver(current, lease);
    await unlock(current, shard);
  }

  async function unlock(current: LockConnection, shard: number): Promise<void> {
    await current.query('SELECT pg_advisory_unlock($1, $2)', [SHARD_LOCK, shard]);
  }

  async function run(): Promise<void> {
    while (!stopping) {
      const current = membership.connection();
      const self = membership.id();
      if (current && self !== null) {
        await round(current, self).catch((err) => {
          deps.log.warn({ err }, 'shard round failed');
          membership.drop(current);
        });
      }
      if (!stopping) await waker.wait(ROUND_MS);
    }
  }

  const running = run();
  return {
    owned: () => (membership.isAlive() ? [...leases.values()] : []),
    giveUp(lease) {
      const current = membership.connection();
      if (leases.get(lease.shard)?.epoch !== lease.epoch) return;
      deps.log.warn(lease, 'a shard was taken from us');
      if (!current) {
        leases.delete(lease.shard);
        void close(lease.shard);
        return;
      }
      release(current, lease.shard).catch(() => membership.drop(current));
    },
    async stop() {
      stopping = true;
      waker.wake();
      await running;
      const current = membership.connection();
      const shards = [...leases.keys()];
      await Promise.all(
        shards.map((shard) => (current ? release(current, shard).catch(() => undefined) : close(shard))),
      );
      leases.clear();
      await Promise.all(closing.values());
    },
  };
}

interface Raised {
  epoch: number;
  after_crash: boolean;
}

/** A shard without an owner was handed over; the next owner of one that still names its last is careful. */
async function handOver(client: LockConnection, { shard, epoch }: Lease): Promise<void> {
  await client.query('UPDATE shards SET owner = NULL, owner_id = NULL WHERE shard = $1 AND epoch = $2', [
    shard,
    epoch,
  ]);
}

async function readLocks(client: LockConnection): Promise<{ workers: number[]; taken: Set<number> }> {
  const locks = await client.query<{ kind: number; id: number }>(
    `SELECT classid::bigint AS kind, objid::bigint AS id FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid IN ($1, $2)
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [WORKER_LOCK, SHARD_LOCK],
  );
  const workers: number[] = [];
  const taken = new Set<number>();
  for (const lock of locks.rows) {
    if (lock.kind === WORKER_LOCK) workers.push(lock.id);
    else taken.add(lock.id);
  }
  return { workers, taken };
}
