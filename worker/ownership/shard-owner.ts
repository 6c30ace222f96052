import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { startLoop } from '@posthorn/core/platform/process/loop.ts';
import {
  findShardsInUse,
  handOver,
  leaveToOthers,
  readShares,
  type Shares,
  unlockShards,
} from '@posthorn/core/workers/own-shards.ts';
import { createJoinWatch, planShare, rotated, roundMs } from './fair-share.ts';
import type { LockConnection } from './lock-connection.ts';
import type { Membership } from './membership.ts';
import { takeShards } from './take-shards.ts';

/**
 * After the loss of its connection, as in a failover, a worker takes nothing from an owner that may be there: all lose
 * theirs at once, and each takes its own back. Longer than an owner takes to close its sessions after that.
 */
const UNSETTLED_MS = 4_000;
/** By then an owner has closed its sessions or taken its locks again. One of an earlier release does neither. */
const PASS_OVER_MAX_MS = 15_000;
/** A database that does not answer holds up the last records of a session for half a minute. */
const SLOW_CLOSING_MS = 45_000;
/** Shards acquired in one round: the first of many workers does not take them all before it sees the others. */
const ROUND_MAX = 256;
const JOINING = { calm: { ms: 450, perWorkerMs: 12 }, atMost: { ms: 5_000, perWorkerMs: 75 } };

export interface ShardOwnerDeps {
  membership: Membership;
  log: Log;
  /** Called when this worker has acquired shards: open their sessions. */
  onAcquire(leases: readonly Lease[]): void;
  /**
   * Called when a shard was released or lost; resolves when its sessions are closed. A released shard stays
   * ours until then; a lost one may soon belong to another worker.
   */
  onRelease(shard: number, how: 'released' | 'lost'): Promise<void>;
  /** So many locks were tried. */
  onTried?(locks: number): void;
}

export interface ShardOwner {
  owned(): Lease[];
  owns(shard: number): boolean;
  /** How many shards there are, of all workers; 0 until the first round. */
  ofShards(): number;
  /** A record under this lease was refused: another worker owns the shard. */
  giveUp(lease: Lease): void;
  /** From now on this worker owns nothing as long as there are others: they share all shards, and it is ready to be stopped. */
  drain(): void;
  /** There are more shards: look now. */
  look(): void;
  /** Hands over all shards, then stops. */
  stop(): Promise<void>;
}

/**
 * Owns this worker's fair share of the shards.
 * A worker owns a shard by holding a session-level advisory lock on its membership connection: PostgreSQL
 * releases the lock the moment the process dies, and a worker that declares a frozen one dead ends that
 * connection (docs/decisions/0015-owners-prove-life-by-time.md). The epoch increases at each acquisition and
 * fences writes of a worker that does not know yet that it lost its shard. A round takes the same few statements for any
 * number of shards (docs/decisions/0047-shards-are-raised.md).
 */
export function startShardOwner(deps: ShardOwnerDeps): ShardOwner {
  const { membership } = deps;
  const owner: ShardContext = {
    deps,
    leases: new Map(),
    closing: new Map(),
    closed: [],
    handing: null,
    lost: new Map(),
    inUse: new Map(),
    joins: createJoinWatch(JOINING),
    shards: 0,
    nextMs: roundMs(1, false),
    isStuck: false,
    settledAtMs: 0,
    drains: false,
  };
  const { leases } = owner;
  const loop = startLoop({
    everyMs: () => owner.nextMs,
    run: () => round(owner),
    onError: (err) => deps.log.warn({ err }, 'assigning the shards failed, will be retried'),
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
    owns: (shard) => membership.isAlive() && leases.has(shard),
    ofShards: () => owner.shards,
    giveUp(lease) {
      const current = membership.connection();
      if (leases.get(lease.shard)?.epoch !== lease.epoch) return;
      deps.log.warn(lease, 'another worker took a shard from this one');
      if (!current) {
        leases.delete(lease.shard);
        void close(owner, lease.shard, 'lost');
        return;
      }
      release(owner, current, [lease.shard]).catch(() => membership.drop(current));
    },
    drain() {
      if (!owner.drains) deps.log.warn('this worker gives its shards away and takes no new ones');
      owner.drains = true;
      loop.wake();
    },
    look: loop.wake,
    async stop() {
      // The others take what is handed over at once: this process may stay registered for long, with its other work.
      owner.drains = true;
      await membership.standBack(true).catch(() => undefined);
      await loop.stop();
      const current = membership.connection();
      const all = [...leases.keys()];
      if (current) await release(owner, current, all).catch(() => undefined);
      else await Promise.all(all.map((shard) => close(owner, shard, 'lost')));
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
  /** Released shards whose sessions are closed and whose locks this worker still holds. */
  closed: Lease[];
  /** The hand-over of closed shards that is under way. */
  handing: Promise<void> | null;
  /** Shards lost with a connection, which still name this worker: the others do not take them before their sessions are closed. */
  lost: Map<number, Lease>;
  /** Shards without a lock that their last owner may have open, and when this worker first saw each so (monotonic). */
  inUse: Map<number, number>;
  joins: ReturnType<typeof createJoinWatch>;
  /** How many shards there are. */
  shards: number;
  /** The time until the next round. */
  nextMs: number;
  /** The last round took fewer shards than are missing. */
  isStuck: boolean;
  /** When this worker may judge other owners by their connections again (monotonic). */
  settledAtMs: number;
  drains: boolean;
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
  await owner.deps.membership.standBack(owner.drains);
  const shares = await readShares(current, self);
  owner.shards = shares.shards;
  const isJoining = owner.joins.isJoining(shares.workers, self, performance.now());
  // Better one that is to be stopped than none: the others drain too, or have died.
  const leaves = owner.drains && shares.workers.length > 0;
  const { quota, mine } = leaves ? { quota: 0, mine: [] } : planShare(shares, self);
  if (!isJoining || leaves) {
    const surplus = [...leases.keys()].slice(quota);
    if (surplus.length > 0) await release(owner, current, surplus);
    await fill(owner, current, { self, shares, missing: Math.max(0, quota - leases.size), mine });
  }
  const isSettled = !isJoining && shares.free.length === 0 && leases.size === quota;
  owner.nextMs = roundMs(shares.workers.length, isSettled);
  const closedLost = [...owner.lost.values()].filter(({ shard }) => !closing.has(shard));
  if (closedLost.length > 0) await leaveToOthers(current, closedLost);
  for (const { shard } of closedLost) owner.lost.delete(shard);
}

/** Takes this worker's last ones first, then those it was dealt; the others only when that was not enough before. */
async function fill(
  owner: ShardContext,
  current: LockConnection,
  round: { self: number; shares: Shares; missing: number; mine: readonly number[] },
): Promise<void> {
  const { self, shares, missing, mine } = round;
  owner.inUse = missing > 0 ? await findInUse(owner, current, shares.free, self) : new Map();
  const longAgoMs = performance.now() - PASS_OVER_MAX_MS;
  const others = owner.isStuck ? rotated(shares.free, self) : [];
  const wanted = [...new Set([...shares.own, ...mine, ...others])]
    .filter(
      (shard) =>
        !owner.closing.has(shard) && (owner.inUse.get(shard) ?? Number.NEGATIVE_INFINITY) <= longAgoMs,
    )
    .slice(0, Math.min(missing, ROUND_MAX));
  const got = wanted.length > 0 ? await acquire(owner, current, self, wanted) : 0;
  owner.isStuck = got < Math.min(missing, ROUND_MAX);
}

async function findInUse(
  owner: ShardContext,
  current: LockConnection,
  free: readonly number[],
  self: number,
): Promise<ShardContext['inUse']> {
  if (free.length === 0) return new Map();
  const nowMs = performance.now();
  const found = await findShardsInUse(current, free, { self, orHasRow: nowMs < owner.settledAtMs });
  return new Map(found.map((shard) => [shard, owner.inUse.get(shard) ?? nowMs]));
}

/** How many of the shards it got. */
async function acquire(
  owner: ShardContext,
  current: LockConnection,
  self: number,
  shards: readonly number[],
): Promise<number> {
  const { deps } = owner;
  deps.onTried?.(shards.length);
  const taker = { log: deps.log, owner: { name: deps.membership.name, id: self } };
  const leases = await takeShards(current, taker, shards);
  // If the connection ended in between, the locks are gone too.
  if (leases.length === 0 || deps.membership.connection() !== current) return 0;
  for (const lease of leases) owner.leases.set(lease.shard, lease);
  deps.onAcquire(leases);
  return leases.length;
}

/** Closes the sessions of these shards, and hands each over once they are closed. */
async function release(
  owner: ShardContext,
  current: LockConnection,
  shards: readonly number[],
): Promise<void> {
  await Promise.all(
    shards.map(async (shard) => {
      const lease = owner.leases.get(shard);
      owner.leases.delete(shard);
      await close(owner, shard, 'released');
      if (!lease || owner.deps.membership.connection() !== current) return;
      owner.closed.push(lease);
      while (owner.closed.includes(lease)) {
        owner.handing ??= handOverClosed(owner, current);
        await owner.handing;
      }
    }),
  );
}

/** All that are closed by now, together. */
async function handOverClosed(owner: ShardContext, current: LockConnection): Promise<void> {
  try {
    await Promise.resolve();
    const leases = owner.closed.splice(0);
    await handOver(current, leases);
    await unlockShards(
      current,
      leases.map(({ shard }) => shard),
    );
  } finally {
    owner.handing = null;
  }
}

function close({ deps, closing }: ShardContext, shard: number, how: 'released' | 'lost'): Promise<void> {
  const tell = () => deps.log.warn({ shard, how }, 'closing the sessions of a shard takes long');
  const slow = setTimeout(tell, SLOW_CLOSING_MS).unref();
  const closed = deps
    .onRelease(shard, how)
    .catch((err) => deps.log.warn({ err, shard }, 'closing the sessions of a shard failed'))
    .finally(() => {
      clearTimeout(slow);
      if (closing.get(shard) === closed) closing.delete(shard);
    });
  closing.set(shard, closed);
  return closed;
}
