import type { Lease } from '@posthorn/core/instances/hold-leases.ts';
import { SHARD_COUNT } from '@posthorn/core/instances/shard.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { createWaker } from '@posthorn/core/platform/waker.ts';
import pg from 'pg';
import { fairShare, pickShards } from './fair-share.ts';

/** First halves of the advisory locks' keys: a live worker, an owned shard. */
const WORKER_LOCK = 7201;
const SHARD_LOCK = 7202;

const ROUND_MS = 500;
/** A round that takes longer means that the database, or the way to it, is gone. */
const ROUND_TIMEOUT_MS = 5_000;

export interface ShardOwnerDeps {
  databaseUrl: string;
  log: Log;
  /** Names this worker in the shards table. */
  name: string;
  /** A shard is ours: open its sessions. */
  onAcquire(lease: Lease): void;
  /** Give a shard back: resolves when its sessions are closed; only then may another take it. */
  onRelease(shard: number): Promise<void>;
  /** The locks are gone (database connection lost): another may own the shards by now. Close at once. */
  onLost(shards: readonly number[]): void;
}

export interface ShardOwner {
  owned(): Lease[];
  /** Hands all shards over, then lets go. */
  stop(): Promise<void>;
}

/**
 * Owns this worker's fair share of the shards (design 3.3).
 *
 * A shard is owned by holding a session-level advisory lock on one dedicated connection: PostgreSQL
 * itself releases it the moment the process dies, so there is no lease time to wait out. Who is alive is
 * read from the locks too. The epoch, raised at each acquisition, fences writes of a worker that does
 * not know yet that it lost its connection.
 */
export function startShardOwner(deps: ShardOwnerDeps): ShardOwner {
  const leases = new Map<number, Lease>();
  // 31 random bits: the second half of an advisory lock's key is a signed integer.
  const workerId = Math.floor(Math.random() * 0x7fffffff);
  let client: pg.Client | null = null;
  let stopping = false;
  const waker = createWaker();

  async function connect(): Promise<pg.Client> {
    const next = new pg.Client({
      connectionString: deps.databaseUrl,
      application_name: `${deps.name} shards`,
      connectionTimeoutMillis: ROUND_TIMEOUT_MS,
      query_timeout: ROUND_TIMEOUT_MS,
      keepAlive: true,
    });
    next.on('error', () => lose(next));
    next.on('end', () => lose(next));
    await next.connect();
    // A host that vanished without a word keeps its locks only until its connection is given up.
    await next.query(
      'SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3',
    );
    await next.query('SELECT pg_advisory_lock($1, $2)', [WORKER_LOCK, workerId]);
    return next;
  }

  function lose(which: pg.Client): void {
    if (client !== which) return;
    client = null;
    const shards = [...leases.keys()];
    leases.clear();
    if (shards.length > 0) {
      deps.log.warn({ shards: shards.length }, 'shard locks lost');
      deps.onLost(shards);
    }
    waker.wake();
  }

  async function round(): Promise<void> {
    client ??= await connect();
    const current = client;
    const { workers, taken } = await readLocks(current);
    const quota = fairShare(SHARD_COUNT, workers, workerId);
    const surplus = [...leases.keys()].slice(quota);
    for (const shard of surplus) await release(current, shard);
    const wanted = pickShards(SHARD_COUNT, taken, workerId).slice(0, Math.max(0, quota - leases.size));
    for (const shard of wanted) await acquire(current, shard);
  }

  async function acquire(current: pg.Client, shard: number): Promise<void> {
    const got = await current.query<{ ok: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS ok', [
      SHARD_LOCK,
      shard,
    ]);
    if (!got.rows[0]?.ok) return;
    const raised = await current.query<{ epoch: string; after_crash: boolean }>(
      `UPDATE shards SET epoch = last.epoch + 1, owner = $2, acquired_at = now()
       FROM (SELECT shard, epoch, owner FROM shards WHERE shard = $1 FOR UPDATE) AS last
       WHERE shards.shard = last.shard
       RETURNING shards.epoch, last.owner IS NOT NULL AS after_crash`,
      [shard, deps.name],
    );
    // The connection may have ended in between: then the lock is gone too.
    if (client !== current) return;
    const lease = {
      shard,
      epoch: Number(raised.rows[0]?.epoch),
      afterCrash: raised.rows[0]?.after_crash ?? false,
    };
    leases.set(shard, lease);
    deps.onAcquire(lease);
  }

  async function release(current: pg.Client, shard: number): Promise<void> {
    const lease = leases.get(shard)!;
    leases.delete(shard);
    await deps.onRelease(shard);
    if (client !== current) return;
    await handOver(current, [lease]);
    await current.query('SELECT pg_advisory_unlock($1, $2)', [SHARD_LOCK, shard]);
  }

  async function run(): Promise<void> {
    while (!stopping) {
      try {
        await round();
      } catch (err) {
        deps.log.warn({ err }, 'shard round failed');
        const broken = client;
        if (broken) {
          lose(broken);
          broken.end().catch(() => undefined);
        }
      }
      if (!stopping) await waker.wait(ROUND_MS);
    }
  }

  const running = run();
  return {
    owned: () => [...leases.values()],
    async stop() {
      stopping = true;
      waker.wake();
      await running;
      const last = client;
      const held = [...leases.values()];
      leases.clear();
      await Promise.all(held.map(({ shard }) => deps.onRelease(shard)));
      client = null;
      if (last) await handOver(last, held).catch(() => undefined);
      // Ending the connection releases every lock at once.
      await last?.end().catch(() => undefined);
    },
  };
}

/** A shard without an owner was handed over; the next owner of one that still names its last is careful. */
async function handOver(client: pg.Client, leases: readonly Lease[]): Promise<void> {
  await client.query(
    `UPDATE shards SET owner = NULL FROM unnest($1::smallint[], $2::bigint[]) AS lease (shard, epoch)
     WHERE shards.shard = lease.shard AND shards.epoch = lease.epoch`,
    [leases.map(({ shard }) => shard), leases.map(({ epoch }) => epoch)],
  );
}

async function readLocks(client: pg.Client): Promise<{ workers: number[]; taken: Set<number> }> {
  const locks = await client.query<{ kind: string; id: string }>(
    `SELECT classid::bigint AS kind, objid::bigint AS id FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid IN ($1, $2)
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [WORKER_LOCK, SHARD_LOCK],
  );
  const workers: number[] = [];
  const taken = new Set<number>();
  for (const lock of locks.rows) {
    if (Number(lock.kind) === WORKER_LOCK) workers.push(Number(lock.id));
    else taken.add(Number(lock.id));
  }
  return { workers, taken };
}
