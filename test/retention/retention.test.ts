import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { recordAudit } from '@posthorn/core/audit/record-audit.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { dropOldPartitions } from '@posthorn/core/platform/database/partitions.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createLongRetentionJob, createRetentionJob } from '@posthorn/worker/retention/retention-job.ts';
import { newEvent } from '../events/support.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
let company: SeededCompany;
before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
});
after(() => parts.close());

const DAY_MS = 86_400_000;
const AUDIT_RETENTION_DAYS = 400;
/** All of the retention, as one job. */
function createJob(): { runOnce(): Promise<true | null> } {
  const jobs = [
    createRetentionJob(parts),
    createLongRetentionJob({ ...parts, config: { AUDIT_RETENTION_DAYS } }),
  ];
  return {
    async runOnce() {
      const [done] = await Promise.all(jobs.map((job) => job.runOnce()));
      return done!;
    },
  };
}

async function partitionsOf(table: string): Promise<string[]> {
  const { rows } = await parts.db.query<{ name: string }>(
    'SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY 1',
    [table],
  );
  return rows.map((row) => row.name);
}

const dayName = (table: string, at: Date) => `${table}_${at.toISOString().slice(0, 10).replaceAll('-', '')}`;

test('over 40 days partitions are made ahead, old ones are dropped, and no event is lost before its time', async () => {
  const { db, clock } = parts;
  const job = createJob();
  const kept: { id: string; at: number }[] = [];
  for (let day = 0; day < 40; day += 1) {
    // Nobody runs the job from day 10 to 20: events fall into the default partition.
    if (day < 10 || day > 20) assert.equal(await job.runOnce(), true);
    const event = newEvent(company.companyId, { createdAt: clock.now() });
    await insertEvents(db, [event]);
    kept.push({ id: event.eventId, at: clock.now().getTime() });
    clock.advance(DAY_MS);
  }
  await job.runOnce();
  const now = clock.now();
  const { rows } = await db.query<{ event_id: string }>('SELECT event_id FROM events');
  const there = new Set(rows.map((row) => row.event_id));
  for (const { id, at } of kept) {
    if (at > now.getTime() - 14 * DAY_MS) assert.ok(there.has(id), 'kept for 14 days');
    if (at < now.getTime() - 15 * DAY_MS) assert.ok(!there.has(id), 'dropped with its day');
  }
  const { rows: stray } = await db.query('SELECT 1 FROM ONLY events_other');
  assert.equal(stray.length, 0, 'the default partition was emptied');
  for (const [table, days] of [
    ['events', 14],
    ['webhook_delivery_logs', 30],
  ] as const) {
    const partitions = await partitionsOf(table);
    for (let ahead = -1; ahead <= 7; ahead += 1)
      assert.ok(partitions.includes(dayName(table, new Date(now.getTime() + ahead * DAY_MS))));
    const oldest = dayName(table, new Date(now.getTime() - days * DAY_MS));
    assert.ok(partitions.filter((name) => /_\d{8}$/.test(name)).every((name) => name >= oldest));
  }
});

test('keys, counters and deliveries are removed when their time is over, and not before', async () => {
  const { db, clock } = parts;
  const now = clock.now().getTime();
  const ago = (hours: number) => new Date(now - hours * 3_600_000);
  for (const hours of [1, 71, 73, 200])
    await db.query(
      'INSERT INTO idempotency_keys (id, body_hash, task_id, created_at) VALUES ($1, $1, $1, $2)',
      [newId(), ago(hours)],
    );
  for (const hours of [1, 24, 72])
    await db.query('INSERT INTO usage_minutes (instance_id, minute, company_id) VALUES ($1, $2, $3)', [
      newId(),
      ago(hours),
      company.companyId,
    ]);
  for (const hours of [1, 15 * 24])
    await db.query(
      `INSERT INTO webhook_deliveries (company_id, webhook_id, event_id, event_created_at, next_attempt_at, created_at)
       VALUES ($1, 1, $2, $3, $3, $3)`,
      [company.companyId, newId(), ago(hours)],
    );
  await createJob().runOnce();
  const count = async (table: string) =>
    (await db.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]!.n;
  assert.equal(await count('idempotency_keys'), 2);
  assert.equal(await count('usage_minutes'), 2);
  assert.equal(await count('webhook_deliveries'), 1);
});

test('the audit log is kept as long as the settings say, and the moves of an instance for 90 days', async () => {
  const { db, clock } = parts;
  const instanceId = await seedInstance(db, company.companyId);
  const past = (days: number) => new Date(clock.now().getTime() - days * DAY_MS);
  for (const days of [0, AUDIT_RETENTION_DAYS - 1, AUDIT_RETENTION_DAYS + 1])
    await recordAudit(db, {
      companyId: company.companyId,
      userId: null,
      action: 'session.login',
      detail: { days },
      traceId: null,
      at: past(days),
    });
  for (const days of [89, 91])
    await db.query(
      `INSERT INTO instance_moves (company_id, instance_id, from_state, to_state, reason, created_at)
       VALUES ($1, $2, 'CONNECTED', 'DISCONNECTED', $3, $4)`,
      [company.companyId, instanceId, String(days), past(days)],
    );
  await createJob().runOnce();
  const audit = await db.query<{ days: number }>(
    `SELECT (detail ->> 'days')::int AS days FROM audit_log WHERE company_id = $1 ORDER BY id`,
    [company.companyId],
  );
  assert.deepEqual(
    audit.rows.map((row) => row.days),
    [0, AUDIT_RETENTION_DAYS - 1],
  );
  const moves = await db.query('SELECT reason FROM instance_moves WHERE instance_id = $1', [instanceId]);
  assert.deepEqual(moves.rows, [{ reason: '89' }]);
});

test('rows that were written for an instance while it was deleted are removed', async () => {
  const { db, clock } = parts;
  const [there, gone] = [await seedInstance(db, company.companyId), newId()];
  for (const id of [there, gone]) {
    await db.query(
      `INSERT INTO chats (instance_id, company_id, chat_jid, name, active_at, updated_at)
       SELECT $1, $2, nth || '@s.whatsapp.net', '', now(), now() FROM generate_series(1, 3) AS nth`,
      [id, company.companyId],
    );
    await db.query(
      `INSERT INTO contacts (instance_id, company_id, jid, name, push_name, updated_at)
       VALUES ($1, $2, '1@s.whatsapp.net', 'Ana', '', now())`,
      [id, company.companyId],
    );
    await db.query(
      `INSERT INTO chat_guards (instance_id, chat_jid, company_id, score_at) VALUES ($1, '1@s.whatsapp.net', $2, now())`,
      [id, company.companyId],
    );
    await db.query(
      `INSERT INTO lids (instance_id, lid, company_id, phone, learned_at) VALUES ($1, '7@lid', $2, '1', now())`,
      [id, company.companyId],
    );
    await db.query(
      `INSERT INTO chat_groups (instance_id, jid, company_id, name, description, announce, locked, participants, told_at,
         fact_at, updated_at) VALUES ($1, '1@g.us', $2, '', '', false, false, '[]', now(), now(), now())`,
      [id, company.companyId],
    );
    await db.query(
      `INSERT INTO network_inbox (instance_id, company_id, body, received_at) VALUES ($1, $2, 'a post', $3)`,
      [id, company.companyId, clock.now()],
    );
    await db.query(
      `INSERT INTO work_tries (instance_id, company_id, subject, tries, first_at) VALUES ($1, $2, gen_random_uuid(), 1, $3)`,
      [id, company.companyId, clock.now()],
    );
  }
  await createJob().runOnce();
  const { rows } = await db.query<{ instance_id: string; n: number }>(
    `SELECT instance_id, count(*)::integer AS n
     FROM (SELECT instance_id FROM chats UNION ALL SELECT instance_id FROM contacts
           UNION ALL SELECT instance_id FROM chat_guards UNION ALL SELECT instance_id FROM lids
           UNION ALL SELECT instance_id FROM chat_groups UNION ALL SELECT instance_id FROM network_inbox
           UNION ALL SELECT instance_id FROM work_tries) AS held
     WHERE instance_id = ANY ($1) GROUP BY 1`,
    [[there, gone]],
  );
  assert.deepEqual(rows, [{ instance_id: there, n: 9 }]);
});

test('/metrics counts the rounds of a job in which a part failed, and the other parts are done all the same', async () => {
  const metrics = createMetrics({ collectProcess: false });
  const job = createRetentionJob({ ...parts, metrics });
  const failures = async () =>
    /^posthorn_job_failures_total\{name="the retention job"\} (\d+)$/m.exec(await metrics.read())?.[1];
  assert.equal(await failures(), '0');
  const past = new Date(parts.clock.now().getTime() - 8 * DAY_MS);
  await parts.db.query('INSERT INTO usage_minutes (instance_id, company_id, minute) VALUES ($1, $2, $3)', [
    newId(),
    company.companyId,
    past,
  ]);
  await parts.db.query('ALTER TABLE idempotency_keys RENAME TO renamed');
  await parts.db.query('ALTER TABLE finished_changes RENAME TO also_renamed');
  assert.equal(await job.runOnce(), true);
  assert.equal(await failures(), '1', 'one round, however many parts of it');
  assert.equal((await parts.db.query('SELECT FROM usage_minutes WHERE minute = $1', [past])).rows.length, 0);
  await parts.db.query('ALTER TABLE renamed RENAME TO idempotency_keys');
  await parts.db.query('ALTER TABLE also_renamed RENAME TO finished_changes');
  assert.equal(await job.runOnce(), true);
  assert.equal(await failures(), '1');
});

test('a round of every ten minutes reads no rows that are kept for weeks', async () => {
  const tables = ['session_keys', 'audit_log', 'webhook_deliveries', 'instance_moves', 'scheduled_sends'];
  const db = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'reads', plans: 'indexed' });
  const read = async () => {
    await db.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await db.query<{ read: number }>(
      `SELECT sum(seq_tup_read) AS read FROM pg_stat_user_tables WHERE relname = ANY ($1)`,
      [tables],
    );
    return Number(rows[0]!.read);
  };
  try {
    await db.query(
      `INSERT INTO session_keys (instance_id, company_id, kind, id, sealed)
       SELECT $1, $2, 'session', nth::text, '' FROM generate_series(1, 2000) AS nth`,
      [await seedInstance(db, company.companyId), company.companyId],
    );
    const earlier = await read();
    await createRetentionJob({ ...parts, db: { ...db, pool: parts.db.pool } }).runOnce();
    const rows = (await read()) - earlier;
    assert.ok(rows < 100, `${rows} rows were read`);
  } finally {
    await db.close();
  }
});

test('while somebody reads the events for long, as an export does, dropping a partition keeps nobody from writing', async () => {
  const { db, clock } = parts;
  const now = clock.now();
  const old = new Date(now.getTime() - 20 * DAY_MS);
  await db.query(`SELECT ensure_day_partitions('events', $1, $1)`, [old]);
  const reader = await db.pool.connect();
  const write = () =>
    db.transaction(async (sql) => {
      await sql.query(`SET LOCAL lock_timeout = '1500ms'`);
      await insertEvents(sql, [newEvent(company.companyId, { createdAt: now })]);
    });
  try {
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM events');
    let isOver = false;
    const dropping = dropOldPartitions(db, { name: 'events', retentionDays: 14 }, { now }).finally(() => {
      isOver = true;
    });
    const refused = assert.rejects(dropping, { code: '55P03' });
    while (!isOver) await write();
    await refused;
    await reader.query('COMMIT');
  } finally {
    reader.release();
  }
  const dropped = await dropOldPartitions(db, { name: 'events', retentionDays: 14 }, { now });
  assert.deepEqual(dropped, [dayName('events', old)]);
});

test('one process at a time does the clean-up', async () => {
  const client = await parts.db.pool.connect();
  await client.query('SELECT pg_advisory_lock(7071003)');
  assert.equal(await createJob().runOnce(), null);
  await client.query('SELECT pg_advisory_unlock(7071003)');
  client.release();
  assert.equal(await createJob().runOnce(), true);
});

test('a scheduled send is removed 14 days after any end, and one that waits stays', async () => {
  const { db, clock } = parts;
  const instanceId = await seedInstance(db, company.companyId);
  const past = (days: number) => new Date(clock.now().getTime() - days * DAY_MS);
  const cases: { status: string; sendAt: Date; finishedAt: Date | null; stays: boolean }[] = [
    ...['queued', 'failed', 'cancelled'].flatMap((status) => [
      { status, sendAt: past(30), finishedAt: past(13), stays: true },
      { status, sendAt: past(-100), finishedAt: past(15), stays: false },
    ]),
    { status: 'scheduled', sendAt: past(30), finishedAt: null, stays: true },
    { status: 'claimed', sendAt: past(30), finishedAt: null, stays: true },
  ];
  const ids: string[] = [];
  for (const { status, sendAt, finishedAt } of cases) {
    const id = newId();
    ids.push(id);
    await db.query(
      `INSERT INTO scheduled_sends (id, company_id, instance_id, type, send_at, status, body, idempotency_key, force,
                                    user_id, is_superadmin, created_at, finished_at)
       VALUES ($1::uuid, $2, $3, 'text', $4, $5, '{"text":"later"}', $1::text, false, 1, false, $4, $6)`,
      [id, company.companyId, instanceId, sendAt, status, finishedAt],
    );
  }
  await createJob().runOnce();
  const { rows } = await db.query<{ id: string }>('SELECT id FROM scheduled_sends WHERE instance_id = $1', [
    instanceId,
  ]);
  const left = new Set(rows.map((row) => row.id));
  for (const [nth, each] of cases.entries())
    assert.equal(left.has(ids[nth]!), each.stays, JSON.stringify(each));
  // No scheduled send of a deleted instance is left.
  await db.query('DELETE FROM instances WHERE id = $1', [instanceId]);
  await createJob().runOnce();
  const after = await db.query('SELECT FROM scheduled_sends WHERE instance_id = $1', [instanceId]);
  assert.equal(after.rows.length, 0);
});
