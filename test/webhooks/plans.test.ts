import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { listCompanyLogs, listLatestLogs } from '@posthorn/core/webhooks/list-company-logs.ts';
import { claimDeliveries } from '@posthorn/worker/webhooks/claim-deliveries.ts';
import { recordAttempts } from '@posthorn/worker/webhooks/record-attempts.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { emitEvents, seedWebhook, successOf } from './support.ts';

const WAITING = 5_000;
const CLAIMED = 32;

let parts: Parts;
let hot: Db;
before(async () => {
  parts = await createParts();
  hot = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'plans', plans: 'indexed' });
});
after(async () => {
  await hot.close();
  await parts.close();
});

function lease(): { now: Date; until: Date } {
  const now = new Date(Date.now() + 1_000);
  return { now, until: new Date(now.getTime() + 60_000) };
}

/** A webhook with {@link WAITING} deliveries. */
async function seedBacklog(): Promise<{ companyId: number; webhookId: number }> {
  const { companyId } = await seedCompany(parts.db);
  const { id: webhookId } = await seedWebhook(parts.db, companyId, 'http://127.0.0.1:9/');
  await emitEvents(parts, companyId, WAITING);
  return { companyId, webhookId };
}

/** The index entries of the queue that `work` read, on the one connection of the hot pool. */
async function entriesRead(work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await hot.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await hot.query<{ read: number }>(
      `SELECT sum(idx_tup_read) AS read FROM pg_stat_user_indexes WHERE relname = 'webhook_deliveries'`,
    );
    return Number(rows[0]!.read);
  };
  const before = await read();
  await work();
  return (await read()) - before;
}

test('a queue that was empty when it was last analyzed is claimed and recorded by probes, not by walking it', async () => {
  const { companyId, webhookId } = await seedBacklog();
  await parts.db.query('DELETE FROM webhook_deliveries');
  await parts.db.query('VACUUM (ANALYZE, TRUNCATE false) webhook_deliveries');
  await emitEvents(parts, companyId, WAITING);

  // The first execution makes the plan, which is kept.
  const quotas = [{ webhookId, fresh: CLAIMED, retries: CLAIMED, ahead: 0, fromId: 0, aheadFromId: 0 }];
  const claim = () => claimDeliveries(hot, { quotas, ...lease() });
  let claimed = await claim();
  const byClaim = await entriesRead(async () => {
    claimed = await claim();
  });
  assert.equal(claimed.length, CLAIMED);

  const byRecord = await entriesRead(() =>
    recordAttempts(
      hot,
      claimed.map(({ id }) => successOf(id)),
    ),
  );
  // A few for each row, and those that the claim before had leased.
  assert.ok(byClaim < 10 * CLAIMED, `the claim read ${byClaim} index entries`);
  assert.ok(byRecord < 10 * CLAIMED, `the record read ${byRecord} index entries`);
});

test('deliveries that wait for an endpoint are claimed and recorded without walking over finished ones', async (t) => {
  const { webhookId } = await seedBacklog();
  // A backup, or an analyze, keeps the dead entries of the index: claims must begin behind them.
  const reader = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'reader' });
  t.after(() => reader.close());
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await reader.query('SELECT count(*) FROM companies');
  await parts.db.query(
    `UPDATE webhook_deliveries SET attempts = 3, next_attempt_at = now() + interval '5 minutes' WHERE webhook_id = $1`,
    [webhookId],
  );
  await parts.db.query('ANALYZE webhook_deliveries');
  const order: number[] = [];
  const drain = async (count: number) => {
    for (let left = count; left > 0; left -= CLAIMED) {
      const aheadFromId = order.at(-1) ?? 0;
      const quota = { webhookId, fresh: 0, retries: CLAIMED, ahead: 7, fromId: 0, aheadFromId };
      const claimed = await claimDeliveries(hot, { quotas: [quota], ...lease() });
      assert.equal(claimed.length, CLAIMED);
      assert.ok(claimed.every(({ isEarly }) => isEarly));
      order.push(...claimed.map(({ id }) => id));
      await recordAttempts(
        hot,
        claimed.map(({ id }) => ({ ...successOf(id), attempt: 4 })),
      );
    }
  };
  const count = CLAIMED * 100;
  const read = await entriesRead(() => drain(count));
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
    'oldest first',
  );
  assert.ok(read < 20 * count, `${read} index entries for ${count} deliveries`);
});

test('the leases of a backlog move no index entries', async () => {
  const { webhookId } = await seedBacklog();
  const updates = async () => {
    await hot.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await hot.query<{ all: number; moved: number }>(
      `SELECT n_tup_upd AS all, n_tup_upd - n_tup_hot_upd AS moved
       FROM pg_stat_user_tables WHERE relname = 'webhook_deliveries'`,
    );
    return rows[0]!;
  };
  const before = await updates();
  const quotas = [{ webhookId, fresh: 500, retries: 0, ahead: 0, fromId: 0, aheadFromId: 0 }];
  const claim = () => claimDeliveries(hot, { quotas, ...lease() });
  for (let left = WAITING; left > 0; left -= 500) assert.equal((await claim()).length, 500);
  const after = await updates();
  assert.equal(after.all - before.all, WAITING);
  const moved = after.moved - before.moved;
  assert.ok(moved < WAITING / 20, `${moved} of ${WAITING} leases moved their row`);
});

test('a page of the logs of a company with many reads its newest, and counts no more than are told', async () => {
  const reports = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'reports' });
  try {
    const { companyId, principal } = await seedCompany(parts.db);
    const instanceId = await seedInstance(parts.db, companyId);
    const logs = 40_000;
    // Among hundreds of companies with a few.
    await reports.query(
      `INSERT INTO companies (name, slug) SELECT 'few ' || nth, 'few-' || nth FROM generate_series(1, 500) AS nth`,
    );
    await reports.query(
      `INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, instance_id, event_id, event_type, event_created_at,
         attempt, success, status_code, latency_ms, created_at)
       SELECT CASE WHEN nth % 20 = 0 THEN (SELECT min(id) FROM companies WHERE slug = 'few-1') + nth % 500 ELSE $1 END, 1,
         'https://x.test/', $2, gen_random_uuid(), 'message.sent', now(), 1, true, 200, 1, now()
       FROM generate_series(1, $3::integer) AS nth`,
      [companyId, instanceId, logs],
    );
    await reports.query('ANALYZE');
    const read = async () => {
      await reports.query('SELECT pg_stat_force_next_flush()');
      const { rows } = await reports.query<{ read: number }>(
        `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE 'webhook_delivery_logs%')
           + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname LIKE 'webhook_delivery_logs%') AS read`,
      );
      return Number(rows[0]!.read);
    };
    const deps = { reports, clock: parts.clock };
    const page = { principal, page: 1, limit: 50 };
    for (const list of [
      () => listCompanyLogs(deps, page),
      () => listLatestLogs(deps, { ...page, instanceId }),
    ]) {
      const earlier = await read();
      const { data, total, total_capped } = await list();
      assert.deepEqual([data.length, total, total_capped], [50, 10_000, true]);
      const entries = (await read()) - earlier;
      assert.ok(entries < 15_000, `${entries} of ${logs} logs were read`);
    }
  } finally {
    await reports.close();
  }
});
