import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { emptyTrash } from '@posthorn/core/media/remove-expired.ts';
import { createDiskStorage } from '@posthorn/core/platform/storage/disk.ts';
import { createPurgeJob, type PurgeJob } from '@posthorn/worker/purge/purge-job.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type InternalBilling, startInternalBilling } from './support/internal-billing.ts';
import { newMember, newOwner, PASSWORD, type Person, register } from './support/people.ts';

const DAY_MS = 86_400_000;

describe('the purge of deleted companies', () => {
  let server: AccountServer;
  let billing: InternalBilling;
  let job: PurgeJob;
  before(async () => {
    billing = await startInternalBilling();
    server = await startAccountServer({ BILLING_INTERNAL_URL: billing.url, INTERNAL_SECRET: billing.secret });
    await dropChecks(server);
    job = createPurgeJob(server);
  });
  after(async () => {
    await server.close();
    await billing.close();
  });

  /** A company with a row in every table that has a company. */
  async function furnish(): Promise<Person> {
    const owner = await newOwner(server);
    await newMember(server, owner, 'agent');
    await server.api('POST', '/v1/webhooks', {
      jwt: owner.jwt,
      body: { url: 'https://hooks.example.test/' },
    });
    await server.api('POST', '/v1/auth/forgot-password', { body: { email: owner.email } });
    await server.mailSender.runOnce();
    for (let i = 0; i < 2; i++) await seedInstance(server.db, owner.companyId);
    await fillTenantTables(server, owner.companyId);
    return owner;
  }
  const remove = (owner: Person) =>
    server.api('DELETE', '/v1/auth/me/account', { jwt: owner.jwt, body: { current_password: PASSWORD } });

  test('after 30 days everything of the company is gone, and nothing of anybody else', async () => {
    const [gone, stays, later] = [await furnish(), await furnish(), await furnish()];
    assert.equal((await remove(gone)).status, 200);
    const before = await countRows(server, gone.companyId);
    const empty = Object.entries(before).filter(([, count]) => count === 0);
    assert.deepEqual(empty, [], 'the test has something in every table');

    server.clock.advance(30 * DAY_MS - 1);
    assert.equal(await job.runOnce(), 0);
    assert.deepEqual(lasting(await countRows(server, gone.companyId)), lasting(before));

    const neighbours = await Promise.all([stays, later].map(({ companyId }) => countRows(server, companyId)));
    server.clock.advance(1);
    assert.equal(await job.runOnce(), 1);
    const left = Object.entries(await countRows(server, gone.companyId)).filter(([, count]) => count > 0);
    assert.deepEqual(left, []);
    const companies = await server.db.query('SELECT 1 FROM companies WHERE id = $1', [gone.companyId]);
    assert.equal(companies.rows.length, 0);
    for (const [at, { companyId }] of [stays, later].entries())
      assert.deepEqual(lasting(await countRows(server, companyId)), lasting(neighbours[at]!));
    // The name and the address are free again.
    await register(server, gone.email);
    assert.equal(await job.runOnce(), 0, 'and there is nothing left to do');
  });

  test('stored media go with their company, and nobody else’s', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'posthorn-purge-'));
    const storage = await createDiskStorage({ directory });
    const [gone, stays] = [await newOwner(server), await newOwner(server)];
    const keys: string[] = [];
    for (const { companyId } of [gone, stays]) {
      const instanceId = await seedInstance(server.db, companyId);
      const id = randomUUID();
      const key = `${companyId}/${instanceId}/${id}`;
      const file = path.join(storage.spoolDir, id);
      writeFileSync(file, 'a photo');
      await storage.put(key, { path: file, sizeBytes: 7 }, { mimeType: 'image/jpeg' });
      await server.db.query(
        `INSERT INTO media (id, company_id, instance_id, source, mime_type, file_name, size_bytes, sha256,
                            storage_key, created_at)
         VALUES ($1, $2, $3, 'uploads', 'image/jpeg', 'photo.jpg', 7, '', $4, $5)`,
        [id, companyId, instanceId, key, server.clock.now()],
      );
      keys.push(path.join(directory, key));
    }
    await remove(gone);
    server.clock.advance(30 * DAY_MS);
    assert.equal(await job.runOnce(), 1);
    await emptyTrash({ ...server, storage, signal: new AbortController().signal });
    assert.deepEqual(
      keys.map((key) => existsSync(key)),
      [false, true],
    );
    rmSync(directory, { recursive: true });
  });

  test('an interrupted purge is simply begun again', async () => {
    const gone = await furnish();
    await server.db.query(`UPDATE companies SET status = 'deleted', deleted_at = $2 WHERE id = $1`, [
      gone.companyId,
      new Date(server.clock.now().getTime() - 31 * DAY_MS),
    ]);
    // Half way through, the purge fails for a reason that is removed later.
    await server.db.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$`);
    await server.db.query(
      'CREATE TRIGGER refuse BEFORE DELETE ON webhooks FOR EACH STATEMENT EXECUTE FUNCTION refuse()',
    );
    assert.equal(await job.runOnce(), 0);
    const companies = () => server.db.query('SELECT 1 FROM companies WHERE id = $1', [gone.companyId]);
    assert.equal((await companies()).rows.length, 1);
    await server.db.query('DROP TRIGGER refuse ON webhooks');
    assert.equal(await job.runOnce(), 1);
    assert.equal((await companies()).rows.length, 0);
    const left = Object.entries(await countRows(server, gone.companyId)).filter(([, count]) => count > 0);
    assert.deepEqual(left, []);
  });

  test('two processes purge one after the other, not together', async () => {
    const results: (number | null)[] = [];
    const run = async () => void results.push(await job.runOnce());
    const client = await server.db.pool.connect();
    try {
      // The sweep of the one that runs waits for this, so that it is not over before the others begin.
      await client.query('BEGIN; LOCK TABLE refresh_tokens');
      const rounds = Promise.all([run(), run(), run()]);
      await waitFor(() => results.length === 2);
      await client.query('COMMIT');
      await rounds;
    } finally {
      client.release(true);
    }
    assert.deepEqual(results, [null, null, 0]);
  });

  test('sessions, states and links past their time are swept; those that are not stay', async () => {
    const owner = await newOwner(server);
    const counts = async () =>
      (
        await server.db.query<{ families: number; tokens: number }>(
          `SELECT (SELECT count(*) FROM refresh_families WHERE company_id = $1) AS families,
                  (SELECT count(*) FROM refresh_tokens WHERE company_id = $1) AS tokens`,
          [owner.companyId],
        )
      ).rows[0]!;
    await server.api('POST', '/v1/auth/refresh', { cookies: owner.cookies, csrf: owner.csrf });
    await job.runOnce();
    assert.deepEqual({ ...(await counts()) }, { families: 2, tokens: 3 });
    server.clock.advance(30 * DAY_MS);
    await job.runOnce();
    assert.deepEqual({ ...(await counts()) }, { families: 0, tokens: 0 });
  });

  test('the tokens that a long session has used up go as they expire, and the session stays', async () => {
    const owner = await newOwner(server);
    const { rows } = await server.db.query<{ id: string }>(
      'SELECT id FROM refresh_families WHERE company_id = $1 LIMIT 1',
      [owner.companyId],
    );
    const familyId = rows[0]!.id;
    const insert = (count: number, expiresAt: Date) =>
      server.db.query(
        `INSERT INTO refresh_tokens (token_hash, family_id, company_id, created_at, expires_at, rotated_at)
         SELECT sha256(gen_random_uuid()::text::bytea), $1, $2, $3, $3, $3 FROM generate_series(1, $4::integer)`,
        [familyId, owner.companyId, expiresAt, count],
      );
    const now = server.clock.now().getTime();
    await insert(6_000, new Date(now));
    await insert(3, new Date(now + DAY_MS));
    await job.runOnce();
    const left = await server.db.query<{ used: number; live: number }>(
      `SELECT count(*) FILTER (WHERE rotated_at IS NOT NULL)::integer AS used, count(*) FILTER (WHERE rotated_at IS NULL)::integer AS live
       FROM refresh_tokens WHERE family_id = $1`,
      [familyId],
    );
    assert.deepEqual({ ...left.rows[0]! }, { used: 3, live: 1 });
    const family = await server.db.query('SELECT FROM refresh_families WHERE id = $1', [familyId]);
    assert.equal(family.rows.length, 1);
  });

  test('a sweep that fails does not keep the data of a deleted company', async (t) => {
    const gone = await newOwner(server);
    assert.equal((await remove(gone)).status, 200);
    server.clock.advance(30 * DAY_MS);
    await server.db.query('ALTER TABLE login_failures RENAME TO renamed');
    t.after(() => server.db.query('ALTER TABLE renamed RENAME TO login_failures'));
    assert.equal(await job.runOnce(), 1);
    const companies = await server.db.query('SELECT FROM companies WHERE id = $1', [gone.companyId]);
    assert.equal(companies.rows.length, 0);
  });
});

/** Without rows that expire by themselves, whoever's they are. */
function lasting(counts: Record<string, number>): Record<string, number> {
  const {
    password_links: _l,
    revoked_jwts: _j,
    refresh_families: _f,
    refresh_tokens: _t,
    rate_windows: _w,
    ...rest
  } = counts;
  return rest;
}

/** Drops the checks, so that one made-up value fits every column; the purge does not look at values. */
async function dropChecks(server: AccountServer): Promise<void> {
  const { rows } = await server.db.query<{ statement: string }>(
    `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS statement
     FROM pg_constraint WHERE contype = 'c' AND conparentid = 0 AND connamespace = 'public'::regnamespace
       AND coninhcount = 0`,
  );
  for (const { statement } of rows) await server.db.query(statement);
}

interface Column {
  table: string;
  column: string;
  type: string;
}

/** Puts one row of plausible values into each tenant table that is still empty for the company. */
async function fillTenantTables(server: AccountServer, companyId: number): Promise<void> {
  const { rows: instances } = await server.db.query<{ id: string }>(
    'SELECT id FROM instances WHERE company_id = $1',
    [companyId],
  );
  const { rows: people } = await server.db.query<{ id: number }>(
    'SELECT id FROM users WHERE company_id = $1',
    [companyId],
  );
  const { rows: families } = await server.db.query<{ id: string }>(
    'SELECT id FROM refresh_families WHERE company_id = $1',
    [companyId],
  );
  const counts = await countRows(server, companyId);
  for (const [table, count] of Object.entries(counts)) {
    if (count > 0) continue;
    const { rows: columns } = await server.db.query<Column>(
      `SELECT table_name AS table, column_name AS column, udt_name AS type FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name = $1 AND is_nullable = 'NO' AND column_default IS NULL
         AND is_identity = 'NO'`,
      [table],
    );
    const values = columns.map(({ column, type }) => {
      if (column === 'company_id') return companyId;
      if (column === 'instance_id') return instances[0]!.id;
      if (column === 'user_id') return people[0]!.id;
      if (column === 'family_id') return families[0]!.id;
      return plausible(type);
    });
    await server.db.transaction(async (sql) => {
      // Rows outside the company that this row refers to do not matter here.
      await sql.query('SET LOCAL session_replication_role = replica');
      await sql.query(
        `INSERT INTO ${table} (${columns.map(({ column }) => column).join(', ')})
         VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
        values,
      );
    });
  }
}

function plausible(type: string): unknown {
  if (type === 'uuid') return randomUUID();
  if (type === 'bytea') return Buffer.from(randomUUID());
  if (type === 'timestamptz') return new Date();
  if (type === 'jsonb') return '{}';
  if (type === 'bool') return true;
  if (type === 'text') return randomUUID();
  if (type.startsWith('_')) return [];
  return 1;
}

/** Rows of a company by table, over every table of ours that has a company. */
async function countRows(server: AccountServer, companyId: number): Promise<Record<string, number>> {
  const { rows } = await server.db.query<{ table: string }>(
    `SELECT c.relname AS table FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'company_id'
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  const counts: Record<string, number> = {};
  for (const { table } of rows) {
    const counted = await server.db.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${table} WHERE company_id = $1`,
      [companyId],
    );
    counts[table] = counted.rows[0]!.count;
  }
  return counts;
}
