import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { claimMails } from '@posthorn/core/mail/claim-mails.ts';
import type { NetworkDriver, NetworkSession } from '@posthorn/core/network/driver.ts';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { SHARD_LOCK, WORKER_LOCK } from '@posthorn/core/workers/members.ts';
import { type Membership, newWorkerTag, startMembership } from '@posthorn/worker/ownership/membership.ts';
import { fencedDriver } from '@posthorn/worker/sessions/fenced-driver.ts';
import { claimDeliveries } from '@posthorn/worker/webhooks/claim-deliveries.ts';
import pg from 'pg';
import { openLink } from '../support/link.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, seedWebhook } from '../webhooks/support.ts';

/** A worker without its lock and without a heartbeat for this time is declared dead. */
const GONE_AFTER_MS = 2_000;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

function join(name: string): Membership {
  return startMembership({ databaseUrl: parts.url, log: parts.log, name, tag: newWorkerTag() });
}

/** A worker that holds its locks and a transaction, and no longer sends heartbeats. */
async function frozenWorker(): Promise<{ id: number; ended: Promise<unknown> }> {
  const tag = newWorkerTag();
  const connect = async (name: string) => {
    const client = new pg.Client({ connectionString: parts.url, application_name: `${name} ${tag}` });
    const ended = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    return { client, ended };
  };
  const locks = await connect('frozen shards');
  const { rows } = await locks.client.query(
    `INSERT INTO workers (name, tag, backend_pid, beat_at)
     VALUES ('frozen', $1, pg_backend_pid(), clock_timestamp() + interval '1 s') RETURNING id`,
    [tag],
  );
  const id = rows[0].id as number;
  await locks.client.query('SELECT pg_advisory_lock($1, $2), pg_advisory_lock($3, 5)', [
    WORKER_LOCK,
    id,
    SHARD_LOCK,
  ]);
  await locks.client.query('UPDATE shards SET owner_id = $1 WHERE shard = 5', [id]);
  const pool = await connect('worker');
  await pool.client.query('BEGIN; SELECT event_tx(); SELECT 1 FROM shards WHERE shard = 5 FOR SHARE');
  return { id, ended: Promise.all([locks.ended, pool.ended]) };
}

test('a frozen worker is declared dead within 15 s: its connections end, its epochs rise and its claims are free', async (t) => {
  const { companyId } = await seedCompany(parts.db);
  const webhook = await seedWebhook(parts.db, companyId, 'http://127.0.0.1:9/');
  await emitEvents(parts, companyId, 3);
  const { id, ended } = await frozenWorker();
  const claim = (worker: number | null) =>
    claimDeliveries(parts.db, {
      quotas: [{ webhookId: webhook.id, fresh: 10, retries: 10, ahead: 0, fromId: 0, aheadFromId: 0 }],
      now: new Date(Date.now() + 1_000),
      until: new Date(Date.now() + 61_000),
      worker,
    });
  await parts.db.query(
    `INSERT INTO mails (kind, sealed, next_attempt_at, created_at) VALUES ('test', '', now(), now())`,
  );
  const now = new Date(Date.now() + 1_000);
  assert.equal((await claim(id)).length, 3);
  assert.equal((await claimMails(parts.db, { now, limit: 5, worker: id })).length, 1);
  assert.equal((await claim(null)).length, 0);
  assert.equal((await claimMails(parts.db, { now, limit: 5, worker: null })).length, 0);
  const before = await parts.db.query<{ epoch: number }>('SELECT epoch FROM shards WHERE shard = 5');
  const watcher = join('watcher');
  t.after(() => watcher.stop());
  const startedAt = performance.now();
  await ended;
  await waitFor(
    async () => (await parts.db.query('SELECT 1 FROM workers WHERE id = $1', [id])).rows.length === 0,
    10_000,
  );
  t.diagnostic(`declared dead after ${Math.round(performance.now() - startedAt)} ms`);
  const shard = await parts.db.query<{ epoch: number; owner_id: number | null }>(
    'SELECT epoch, owner_id FROM shards WHERE shard = 5',
  );
  assert.ok(shard.rows[0]!.epoch > before.rows[0]!.epoch);
  assert.equal((await claim(watcher.id())).length, 3);
  assert.equal((await claimMails(parts.db, { now, limit: 5, worker: watcher.id() })).length, 1);
});

test('a worker that died before the clock of the database was set back by hours is declared dead, and one that lives is not', async (t) => {
  const [living, watcher] = [join('living'), join('watcher')];
  t.after(() => Promise.all([living.stop(), watcher.stop()]));
  let fenced = 0;
  living.onFenced(() => fenced++);
  await waitFor(() => living.isAlive() && watcher.isAlive());
  // As they stand right after that: the hours that they are ahead of the clock.
  const { rows } = await parts.db.query<{ id: number }>(
    `INSERT INTO workers (name, tag, backend_pid, beat_at)
     VALUES ('killed', $1, 0, clock_timestamp() + interval '3 hours') RETURNING id`,
    [newWorkerTag()],
  );
  await parts.db.query(`UPDATE workers SET beat_at = clock_timestamp() + interval '3 hours' WHERE id = $1`, [
    living.id(),
  ]);
  await waitFor(
    async () =>
      (await parts.db.query('SELECT 1 FROM workers WHERE id = $1', [rows[0]!.id])).rows.length === 0,
    30_000,
  );
  assert.equal(fenced, 0);
});

test('a worker that was declared dead learns of it, and begins anew under another id', async (t) => {
  const worker = join('fenced');
  t.after(() => worker.stop());
  const told: string[] = [];
  worker.onFenced(() => told.push('fenced'));
  worker.onLost(() => told.push('lost'));
  await waitFor(() => worker.isAlive());
  const former = worker.id();
  await parts.db.query('DELETE FROM workers WHERE id = $1', [former]);
  await waitFor(() => told.length === 2 && worker.isAlive());
  assert.deepEqual(told, ['fenced', 'lost']);
  assert.notEqual(worker.id(), former);
});

test('a worker whose registration was answered into a cut registers again, and keeps its connections', async (t) => {
  const target = new URL(parts.url);
  let cuts = 0;
  const link = await openLink({ host: target.hostname, port: Number(target.port) }, (near, far) => {
    let isCut = false;
    near.on('data', (chunk) => {
      isCut ||= cuts === 0 && chunk.includes('INSERT INTO workers');
      far.write(chunk);
    });
    far.on('data', (chunk) => {
      if (!isCut) return near.write(chunk);
      cuts += 1;
      return near.destroy();
    });
  });
  const through = new URL(parts.url);
  through.port = String(link.port);

  const tag = newWorkerTag();
  const registered = async () =>
    (await parts.db.query('SELECT id FROM workers WHERE tag = $1', [tag])).rows.map(({ id }) => id);
  const other = new pg.Client({ connectionString: parts.url, application_name: `worker ${tag}` });
  let ended = false;
  other.on('error', () => {
    ended = true;
  });
  await other.connect();
  const worker = startMembership({ databaseUrl: through.href, log: parts.log, name: 'cut', tag });
  t.after(async () => {
    await Promise.all([worker.stop(), other.end()]);
    await link.close();
  });
  await waitFor(() => worker.isAlive());
  assert.equal(cuts, 1);
  assert.equal((await registered()).length, 2, 'one more than it knows of');
  // Not before: the first registration is soon declared dead.
  const watcher = join('watcher');
  t.after(() => watcher.stop());
  await waitFor(async () => (await registered()).length === 1);
  assert.deepEqual(await registered(), [worker.id()]);
  await other.query('SELECT 1');
  assert.equal(ended, false);
});

test('a cut connection is no death: the id and with it all claims stay, and the locks are lost', async (t) => {
  const [cut, watcher] = [join('cut'), join('watcher')];
  t.after(() => Promise.all([cut.stop(), watcher.stop()]));
  let [lost, fenced] = [0, 0];
  cut.onLost(() => {
    lost += 1;
  });
  cut.onFenced(() => {
    fenced += 1;
  });
  await waitFor(() => cut.isAlive() && watcher.isAlive());
  for (let passed = 0, tries = 1; passed < 5; tries += 1) {
    assert.ok(tries <= 50, 'hardly ever is it back in time');
    await waitFor(() => cut.connection() !== null);
    const [id, lostBefore, fencedBefore] = [cut.id(), lost, fenced];
    const lastBeat = await beatAfter(0);
    await parts.db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE '%shards cut'`,
    );
    await waitFor(() => lost > lostBefore && cut.connection() !== null);
    const nextBeat = await beatAfter(await databaseMs());
    // On a stalled machine a cut lasts as long as a death, and other workers cannot tell them apart.
    if (nextBeat - lastBeat >= GONE_AFTER_MS) continue;
    assert.equal(fenced, fencedBefore, 'nobody was dead');
    assert.equal(lost, lostBefore + 1);
    assert.equal(cut.id(), id);
    passed += 1;
  }
});

/** By the clock of the database, which decides when workers are declared dead. */
async function databaseMs(): Promise<number> {
  const { rows } = await parts.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return rows[0]!.now.getTime();
}

/** When the cut worker sent its first heartbeat after that time. */
async function beatAfter(ms: number): Promise<number> {
  const read = async () => {
    const { rows } = await parts.db.query<{ beat_at: Date }>(
      `SELECT beat_at FROM workers WHERE name = 'cut' AND beat_at > $1`,
      [new Date(ms)],
    );
    return rows[0]?.beat_at.getTime();
  };
  return waitFor(read);
}

test('the workers of a copy, restored beside the original on the same server, leave the workers of the original alone', async (t) => {
  const original = join('original');
  t.after(() => original.stop());
  await waitFor(() => original.isAlive());
  let losses = 0;
  original.onLost(() => losses++);
  const { rows } = await parts.db.query<Record<'name' | 'tag' | 'backend_pid', unknown>>(
    'SELECT name, tag, backend_pid FROM workers WHERE id = $1',
    [original.id()],
  );
  const copy = await createTestDatabase();
  const inCopy = new pg.Client(copy.url);
  await inCopy.connect();
  await inCopy.query(
    'INSERT INTO workers (name, tag, backend_pid, beat_at) VALUES ($1, $2, $3, clock_timestamp())',
    [rows[0]!.name, rows[0]!.tag, rows[0]!.backend_pid],
  );
  const ofCopy = startMembership({
    databaseUrl: copy.url,
    log: parts.log,
    name: 'copy',
    tag: newWorkerTag(),
  });
  t.after(async () => {
    await ofCopy.stop();
    await inCopy.end();
    await copy.drop();
  });
  const isFenced = async () =>
    (await inCopy.query('SELECT FROM workers WHERE name = $1', ['original'])).rowCount === 0;
  await waitFor(isFenced, 30_000);
  await parts.db.query('SELECT 1');
  assert.deepEqual([losses, original.isAlive()], [0, true]);
});

test('without a pulse the session sends nothing to the network, for any call', async () => {
  let alive = true;
  const said: string[] = [];
  const session = new Proxy({} as NetworkSession, {
    // It must not look like a promise, or it would be awaited.
    get: (_, verb) => (verb === 'then' ? undefined : async () => void said.push(String(verb))),
  });
  const driver: NetworkDriver = {
    name: 'listening',
    dedupes: true,
    window: 1,
    can: new Set(),
    open: async () => session,
  };
  const fenced = fencedDriver(driver, { isAlive: () => alive });
  const opened = await fenced.open({} as never, {} as never);
  alive = false;
  await assert.rejects(fenced.open({} as never, {} as never), SendUnavailable);
  // These two only clean up on our side.
  const verbs = Object.keys(opened).filter((verb) => !['close', 'recorded'].includes(verb));
  assert.ok(verbs.length >= 7);
  for (const verb of verbs as (keyof NetworkSession)[]) {
    const say = opened[verb] as (...args: unknown[]) => Promise<unknown>;
    await assert.rejects(say(), SendUnavailable, verb);
  }
  assert.deepEqual(said, []);
});
