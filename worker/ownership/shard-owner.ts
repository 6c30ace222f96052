import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { SHARD_COUNT } from '@posthorn/core/instances/shard.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import { DRAIN_LOCK, findShardsInUse, SHARD_LOCK, WORKER_LOCK } from '@posthorn/core/workers/members.ts';
import { fairShare, pickShards } from './fair-share.ts';
import type { LockConnection } from './lock-connection.ts';
import type { Membership } from './membership.ts';

const ROUND_MS = 500;
/**
 * After the loss of its connection, as in a failover, a worker takes nothing from an owner that may be there: all lose
 * theirs at once, and each takes its own back. Longer than an owner takes to close its sessions after that.
 */
const UNSETTLED_MS = 4_000;
/** By then an owner has closed its sessions or taken its locks again. One of an earlier release does neither. */
const PASS_OVER_MAX_MS = 15_000;

export interface ShardOwnerDeps {
  membership: Membership;
  log: Log;
  /** Called when this worker has acquired a shard: open its sessions. */
  onAcquire(lease: Lease): void;
  /**
   * Called when a shard was released or lost; resolves when its sessions are closed. A released shard stays
   * ours until then; a lost one may soon belong to another worker.
   */
  onRelease(shard: number, how: 'released' | 'lost'): Promise<void>;
}

export interface ShardOwner {
  owned(): Lease[];
  /** A record under this lease was refused: another worker owns the shard. */
  giveUp(lease: Lease): void;
  /** From now on this worker owns nothing: the others share all shards, and it is ready to be stopped. */
  drain(): void;
  /** Hands over all shards, then stops. */
  stop(): Promise<void>;
}

/**
 * Owns this worker's fair share of the shards.
 * A worker owns a shard by holding a session-level advisory lock on its membership connection: PostgreSQL
 * releases the lock the moment the process dies, and a worker that declares a frozen one dead ends that
 * connection (docs/decisions/0015-owners-prove-life-by-time.md). The epoch increases at each acquisition and
 * fences writes of a worker that does not know yet that it lost its shard.
 */
export function startShardOwner(deps: ShardOwnerDeps): ShardOwner {
  const { membership } = deps;
  const owner: ShardContext = {
    deps,
    leases: new Map(),
    closing: new Map(),
    lost: new Map(),
    inUse: new Map(),
    settledAtMs: 0,
    drains: false,
    drainedOn: null,
  };
  const { leases } = owner;
  const loop = startLoop({
    everyMs: ROUND_MS,
    run: () => round(owner),
    onError: (err) => deps.log.warn({ err }, 'a round of sharing out the shards failed'),
  });
  membership.onAlive(loop.wake);
  membership.onLost(() => {
    const lost = [...leases.values()];
    leases.clear();
    owner.settledAtMs = performance.now() + UNSETTLED_MS;
    if (lost.length > 0) deps.log.warn({ shards: lost.length }, 'shard locks lost');
    for (const lease of lost) {
      owner.lost.set(lease.shard, lease);
      void close(owner, lease.shard, 'lost');
    }
  });
  return {
    owned: () => (membership.isAlive() ? [...leases.values()] : []),
    giveUp(lease) {
      const current = membership.connection();
      if (leases.get(lease.shard)?.epoch !== lease.epoch) return;
      deps.log.warn(lease, 'another worker took a shard from this one');
      if (!current) {
        leases.delete(lease.shard);
        void close(owner, lease.shard, 'lost');
        return;
      }
      release(owner, current, lease.shard).catch(() => membership.drop(current));
    },
    drain() {
      if (!owner.drains) deps.log.warn('this worker gives its shards away and takes none any more');
      owner.drains = true;
      loop.wake();
    },
    async stop() {
      await loop.stop();
      const current = membership.connection();
      await Promise.all(
        [...leases.keys()].map((shard) =>
          current ? release(owner, current, shard).catch(() => undefined) : close(owner, shard, 'lost'),
        ),
      );
      leases.clear();
      await Promise.all(owner.closing.values());
    },
  };
}

/** State shared by the functions of one shard owner. */
interface ShardContext {
  deps: ShardOwnerDeps;
  leases: Map<number, Lease>;
  /** Shards whose sessions are still closing; they must not be opened again before that. */
  closing: Map<number, Promise<void>>;
  /** Shards lost with a connection, which still name this worker: the others do not take them before their sessions are closed. */
  lost: Map<number, Lease>;
  /** Shards without a lock that their last owner may have open, and when this worker first saw each so (monotonic). */
  inUse: Map<number, number>;
  /** When this worker may judge other owners by their connections again (monotonic). */
  settledAtMs: number;
  drains: boolean;
  /** The connection on which the others can see that. */
  drainedOn: LockConnection | null;
}

async function round(owner: ShardContext): Promise<void> {
  const { membership } = owner.deps;
  const current = membership.connection();
  const self = membership.id();
  if (!current || self === null) return;
  try {
    await share(owner, current, self);
  } catch (err) {
    membership.drop(current);
    throw err;
  }
}

/** Releases shards above the fair share, or acquires those missing from it. */
async function share(owner: ShardContext, current: LockConnection, self: number): Promise<void> {
  const { leases, closing } = owner;
  if (owner.drains && owner.drainedOn !== current) {
    await current.query('SELECT pg_advisory_lock($1, $2)', [DRAIN_LOCK, self]);
    owner.drainedOn = current;
  }
  const { workers, taken } = await readLocks(current);
  const quota = owner.drains ? 0 : fairShare(SHARD_COUNT, workers, self);
  const surplus = [...leases.keys()].slice(quota);
  await Promise.all(surplus.map((shard) => release(owner, current, shard)));
  const missing = Math.max(0, quota - leases.size);
  owner.inUse = missing > 0 ? await findInUse(owner, current, taken, self) : new Map();
  const longAgoMs = performance.now() - PASS_OVER_MAX_MS;
  const desired = pickShards(SHARD_COUNT, taken, self)
    .filter(
      (shard) => !closing.has(shard) && (owner.inUse.get(shard) ?? Number.NEGATIVE_INFINITY) <= longAgoMs,
    )
    .slice(0, missing);
  for (const shard of desired) await acquire(owner, current, self, shard);
  for (const [shard, lease] of owner.lost) {
    if (closing.has(shard)) continue;
    await leaveToOthers(current, lease);
    owner.lost.delete(shard);
  }
}

async function findInUse(
  owner: ShardContext,
  current: LockConnection,
  taken: ReadonlySet<number>,
  self: number,
): Promise<ShardContext['inUse']> {
  const nowMs = performance.now();
  const found = await findShardsInUse(current, { self, orHasRow: nowMs < owner.settledAtMs });
  const free = found.filter((shard) => !taken.has(shard));
  return new Map(free.map((shard) => [shard, owner.inUse.get(shard) ?? nowMs]));
}

async function acquire(
  owner: ShardContext,
  current: LockConnection,
  self: number,
  shard: number,
): Promise<void> {
  const { deps } = owner;
  const got = await current.query<{ ok: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS ok', [
    SHARD_LOCK,
    shard,
  ]);
  if (!got.rows[0]?.ok) return;
  const raised = await raiseEpoch(current, { name: deps.membership.name, id: self }, shard).catch(
    async (err) => {
      // A writer of the former owner is still active: try again later.
      await unlock(current, shard);
      deps.log.debug({ err, shard }, 'a shard could not be acquired yet');
      return null;
    },
  );
  // If the connection ended in between, the lock is gone too.
  if (raised === null || deps.membership.connection() !== current) return;
  const lease = { shard, epoch: raised.epoch, afterCrash: raised.after_crash };
  owner.leases.set(shard, lease);
  deps.onAcquire(lease);
}

async function release(owner: ShardContext, current: LockConnection, shard: number): Promise<void> {
  const lease = owner.leases.get(shard);
  owner.leases.delete(shard);
  await close(owner, shard, 'released');
  if (owner.deps.membership.connection() !== current) return;
  if (lease) await taking(current, lease);
  await unlock(current, shard);
}

function close({ deps, closing }: ShardContext, shard: number, how: 'released' | 'lost'): Promise<void> {
  const closed = deps
    .onRelease(shard, how)
    .catch((err) => deps.log.warn({ err, shard }, 'closing the sessions of a shard failed'))
    .finally(() => closing.get(shard) === closed && closing.delete(shard));
  closing.set(shard, closed);
  return closed;
}

async function raiseEpoch(
  current: LockConnection,
  owner: { name: string; id: number },
  shard: number,
): Promise<Raised> {
  const raised = await current.query<Raised>(
    `UPDATE shards SET epoch = last.epoch + 1, owner = $2, owner_id = $3, acquired_at = now()
     FROM (SELECT shard, epoch, owner FROM shards WHERE shard = $1 FOR UPDATE) AS last
     WHERE shards.shard = last.shard
     RETURNING shards.epoch, last.owner IS NOT NULL AS after_crash`,
    [shard, owner.name, owner.id],
  );
  return raised.rows[0]!;
}

async function unlock(current: LockConnection, shard: number): Promise<void> {
  await current.query('SELECT pg_advisory_unlock($1, $2)', [SHARD_LOCK, shard]);
}

interface Raised {
  epoch: number;
  after_crash: boolean;
}

/**
 * A shard without an owner was handed over; if it still names its last owner, the next one assumes a crash.
 */
async function taking(client: LockConnection, { shard, epoch }: Lease): Promise<void> {
  await client.query('UPDATE shards SET owner = NULL, owner_id = NULL WHERE shard = $1 AND epoch = $2', [
    shard,
    epoch,
  ]);
}

/** Lets others take a lost shard whose sessions are closed. The next owner still assumes a crash. Changes nothing if it has a new owner. */
async function leaveToOthers(client: LockConnection, { shard, epoch }: Lease): Promise<void> {
  await client.query('UPDATE shards SET owner_id = NULL WHERE shard = $1 AND epoch = $2', [shard, epoch]);
}

/** The live workers that take shards, and the shards that are taken. */
async function readLocks(client: LockConnection): Promise<{ workers: number[]; taken: Set<number> }> {
  const locks = await client.query<{ kind: number; id: number }>(
    `SELECT classid::bigint AS kind, objid::bigint AS id FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid IN ($1, $2, $3)
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [WORKER_LOCK, SHARD_LOCK, DRAIN_LOCK],
  );
  const workers = new Set<number>();
  const draining: number[] = [];
  const taken = new Set<number>();
  for (const lock of locks.rows) {
    if (lock.kind === WORKER_LOCK) workers.add(lock.id);
    else if (lock.kind === DRAIN_LOCK) draining.push(lock.id);
    else taken.add(lock.id);
  }
  for (const worker of draining) workers.delete(worker);
  return { workers: [...workers], taken };
}
