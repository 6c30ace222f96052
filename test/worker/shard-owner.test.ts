import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS } from '@posthorn/core/instances/shard.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { planShare } from '@posthorn/worker/ownership/fair-share.ts';
import { type Membership, newWorkerTag, startMembership } from '@posthorn/worker/ownership/membership.ts';
import { startShardOwner } from '@posthorn/worker/ownership/shard-owner.ts';
import fc from 'fast-check';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/** Every hold of a shard by a worker, to detect two at the same moment. */
interface Hold {
  worker: string;
  shard: number;
  epoch: number;
  from: number;
  to: number;
}

interface TestOwner {
  owned(): Lease[];
  membership: Membership;
  drain(): void;
  /** Hands over its shards and stays registered, as while its process finishes its other work. */
  handOver(): Promise<void>;
  stop(): Promise<void>;
}

function startOwner(name: string, holds: Hold[], releaseMs = 0, tag = newWorkerTag()): TestOwner {
  const open = new Map<number, Hold>();
  const membership = startMembership({ databaseUrl: parts.url, log: parts.log, name, tag });
  const owner = startShardOwner({
    membership,
    log: parts.log,
    onAcquire(leases) {
      for (const { shard, epoch } of leases) {
        const hold = { worker: name, shard, epoch, from: performance.now(), to: Number.POSITIVE_INFINITY };
        open.set(shard, hold);
        holds.push(hold);
      }
    },
    async onRelease(shard) {
      if (releaseMs > 0) await delay(releaseMs);
      const hold = open.get(shard);
      if (hold) hold.to = performance.now();
      open.delete(shard);
    },
  });
  return {
    owned: () => owner.owned(),
    membership,
    drain: owner.drain,
    handOver: owner.stop,
    async stop() {
      await owner.stop();
      await membership.stop();
    },
  };
}

function sizes(...owners: TestOwner[]): number[] {
  return owners.map((owner) => owner.owned().length).sort((a, b) => a - b);
}

test('the quotas of any number of workers add up to the shards and differ by one at most', () => {
  const ids = fc.uniqueArray(fc.integer({ min: 0, max: 0x7fffffff }), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(ids, (workers) => {
      const seen = { shards: DEFAULT_SHARDS, workers, limited: [], held: {}, free: [] };
      const quotas = workers.map((self) => planShare(seen, self).quota);
      assert.equal(
        quotas.reduce((a, b) => a + b, 0),
        DEFAULT_SHARDS,
      );
      assert.ok(Math.max(...quotas) - Math.min(...quotas) <= 1);
    }),
  );
});

test('workers that join and leave share the shards evenly, and no shard ever has two owners', async () => {
  const holds: Hold[] = [];
  const a = startOwner('a', holds, 50);
  await waitFor(() => sizes(a)[0] === 32);
  const b = startOwner('b', holds, 50);
  await waitFor(() => String(sizes(a, b)) === '16,16', 30_000);
  const c = startOwner('c', holds, 50);
  await waitFor(() => String(sizes(a, b, c)) === '10,11,11', 30_000);
  await b.stop();
  await waitFor(() => String(sizes(a, c)) === '16,16');
  await Promise.all([a.stop(), c.stop()]);

  assertOneOwnerEach(holds);
});

test('a worker that was drained owns nothing while there is another one, and everything when there is none', async () => {
  const holds: Hold[] = [];
  const [a, b] = [startOwner('a', holds), startOwner('b', holds)];
  const owns = (owner: TestOwner, count: number) =>
    waitFor(() => owner.owned().length === count, 30_000, { what: `${count} shards` });
  await Promise.all([owns(a, 16), owns(b, 16)]);
  a.drain();
  await Promise.all([owns(a, 0), owns(b, 32)]);
  // Drained at the same time as the other one, as by an operator who stops all of them.
  b.drain();
  await delay(3_000);
  assert.deepEqual(sizes(a, b), [0, 32]);
  await b.stop();
  await owns(a, 32);
  const c = startOwner('c', holds);
  await Promise.all([owns(a, 0), owns(c, 32)]);
  await Promise.all([a.stop(), c.stop()]);
  assertOneOwnerEach(holds);
});

test('a worker that is still starting takes no share from the others', async (t) => {
  const starting = startMembership({
    databaseUrl: parts.url,
    log: parts.log,
    name: 'starting',
    tag: newWorkerTag(),
  });
  t.after(() => starting.stop());
  await waitFor(() => starting.isAlive());
  const a = startOwner('a', []);
  t.after(() => a.stop());
  await waitFor(() => sizes(a)[0] === 32);
  await cutLocksOf('starting');
  await waitFor(() => starting.connection() !== null);
  await delay(3_000);
  assert.deepEqual(sizes(a), [32]);
});

test('the shards of a worker that is closing go to the others before it has left, and none goes back', async (t) => {
  const holds: Hold[] = [];
  const [a, b] = [startOwner('a', holds), startOwner('b', holds)];
  t.after(() => Promise.all([a.stop(), b.stop()]));
  await waitFor(() => String(sizes(a, b)) === '16,16', 30_000);
  await b.handOver();
  await waitFor(() => a.owned().length === 32);
  // Its registration outlives the connection, and so must this.
  await cutLocksOf('b');
  await waitFor(() => b.membership.connection() !== null);
  await delay(3_000);
  assert.equal(a.owned().length, 32);
  assertOneOwnerEach(holds);
});

/** Ends the connection with a worker's locks, at the database. */
function cutLocksOf(name: string) {
  return parts.db.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE '%shards ' || $1`,
    [name],
  );
}

test('a worker whose lock connection is cut again and again closes its shards before another one opens them', async () => {
  const holds: Hold[] = [];
  const tag = newWorkerTag();
  // Closing takes as long as the sends under way do.
  const a = startOwner('a', holds, 700, tag);
  const others = createDb({ url: parts.url, log: parts.log, name: `${tag} worker`, poolSize: 1 });
  await others.query('SELECT 1');
  const b = startOwner('b', holds, 50);
  await waitFor(() => String(sizes(a, b)) === '16,16', 30_000);
  for (let cut = 0; cut < 4; cut += 1) {
    await cutLocksOf('a');
    await delay(Math.random() * 1_500);
  }
  await waitFor(() => String(sizes(a, b)) === '16,16', 30_000);
  await Promise.all([a.stop(), b.stop()]);
  await others.close();
  assertOneOwnerEach(holds);
});

test('a shard that a worker closed after a cut and does not take again goes to another one', async () => {
  const holds: Hold[] = [];
  const tag = newWorkerTag();
  const a = startOwner('a', holds, 50, tag);
  const others = createDb({ url: parts.url, log: parts.log, name: `${tag} worker`, poolSize: 1 });
  await others.query('SELECT 1');
  await waitFor(() => sizes(a)[0] === 32);
  // Both happen at the same moment: `a` has half of the shards when it is back.
  const [b] = await Promise.all([startOwner('b', holds, 50), cutLocksOf('a')]);
  await waitFor(() => String(sizes(a, b)) === '16,16', 30_000);
  await Promise.all([a.stop(), b.stop()]);
  await others.close();
  assertOneOwnerEach(holds);
});

const HOUR_MS = 3_600_000;

/** A worker without its lock that has just sent its last heartbeat, or that sends them for a long time to come. */
async function leaveShardsBehind(name: string, tag: string, livesMs = 0): Promise<void> {
  await parts.db.query(
    `WITH entered AS (
       INSERT INTO workers (name, tag, backend_pid, beat_at)
       VALUES ($1, $2, 0, clock_timestamp() + make_interval(secs => $3)) RETURNING id)
     UPDATE shards SET owner = $1, owner_id = entered.id FROM entered`,
    [name, tag, livesMs / 1_000],
  );
}

test('the shards of a worker that has no connection left are taken before it is declared dead', async () => {
  await leaveShardsBehind('killed', newWorkerTag(), HOUR_MS);
  const next = startOwner('next', []);
  await waitFor(() => sizes(next)[0] === 32);
  const { rows } = await parts.db.query(`DELETE FROM workers WHERE name = 'killed' RETURNING id`);
  assert.equal(rows.length, 1);
  await next.stop();
});

test('the shards of a worker that lost its lock, but has other connections, are taken once it is declared dead', async () => {
  const tag = newWorkerTag();
  const others = createDb({ url: parts.url, log: parts.log, name: `${tag} worker`, poolSize: 1 });
  await others.query('SELECT 1');
  await leaveShardsBehind('cut off', tag);
  const next = startOwner('next', []);
  await waitFor(() => sizes(next)[0] === 32);
  const { rows } = await parts.db.query(`SELECT FROM workers WHERE name = 'cut off'`);
  assert.equal(rows.length, 0);
  await next.stop();
  await others.close();
});

test('the shards of a living worker that neither takes nor closes them are taken in the end', async () => {
  const tag = newWorkerTag();
  const others = createDb({ url: parts.url, log: parts.log, name: `${tag} worker`, poolSize: 1 });
  await others.query('SELECT 1');
  await leaveShardsBehind('stuck', tag, HOUR_MS);
  const next = startOwner('next', []);
  await delay(5_000);
  assert.deepEqual(sizes(next), [0]);
  await waitFor(() => sizes(next)[0] === 32, 60_000);
  await parts.db.query(`DELETE FROM workers WHERE name = 'stuck'`);
  await next.stop();
  await others.close();
});

function assertOneOwnerEach(holds: readonly Hold[]): void {
  for (let shard = 0; shard < DEFAULT_SHARDS; shard += 1) {
    const own = holds.filter((hold) => hold.shard === shard).sort((x, y) => x.epoch - y.epoch);
    assert.ok(own.length > 0);
    own.reduce((earlier, later) => {
      assert.ok(
        later.from >= earlier.to,
        `shard ${shard} had two owners: ${earlier.worker} and ${later.worker}`,
      );
      assert.ok(later.epoch > earlier.epoch);
      return later;
    });
  }
}

test('a worker whose database connection is cut closes its shards and takes its share again', async () => {
  const holds: Hold[] = [];
  const owner = startOwner('cut', holds);
  await waitFor(() => sizes(owner)[0] === 32);
  await cutLocksOf('cut');
  await waitFor(() => holds.filter((hold) => hold.to < Number.POSITIVE_INFINITY).length >= 32);
  await waitFor(() => sizes(owner)[0] === 32);
  await owner.stop();
});
