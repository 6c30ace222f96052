import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestBilling, type TestBilling } from './billing-harness.ts';

/** Every column of messaging that billing may read. A new entry needs a reason. */
const READABLE = [
  'address_windows.key_hash',
  'address_windows.minute',
  'address_windows.used',
  'api_tokens.company_id',
  'api_tokens.id',
  'api_tokens.key_hash',
  'api_tokens.last_used_at',
  'api_tokens.revoked_at',
  'api_tokens.user_id',
  'companies.billing_version',
  'companies.id',
  'companies.requests_per_minute',
  'companies.status',
  'rate_windows.company_id',
  'rate_windows.minute',
  'rate_windows.used',
  'refresh_families.id',
  'refresh_families.revoked_at',
  'refresh_families.user_id',
  'revoked_jwts.jti',
  'users.company_id',
  'users.email',
  'users.email_verified_at',
  'users.id',
  'users.is_superadmin',
  'users.password_changed_at',
  'users.password_changed_jti',
  'users.role',
  'workers.id',
];

/** The counts of requests, which are common to both services. */
const WRITABLE = READABLE.filter((column) => /^(address|rate)_windows\./.test(column));

interface Column {
  relation: string;
  column: string;
}

describe('the database role of billing, on every column of messaging', () => {
  let billing: TestBilling;
  let columns: Column[];
  before(async () => {
    billing = await startTestBilling();
    const { rows } = await billing.parts.db.query<Column & Record<string, unknown>>(
      `SELECT format('%I', c.relname) AS relation, format('%I', a.attname) AS column
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1, 2`,
    );
    columns = rows;
    assert.ok(columns.length > 200, 'found them all');
  });
  after(() => billing.close());

  /** Whether the role may run a statement, by trying it; any error but a refusal is an error of the test. */
  async function may(statement: string): Promise<boolean> {
    const client = await billing.billing.db.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(statement);
      return true;
    } catch (err) {
      assert.equal((err as { code?: string }).code, '42501', `${statement}: ${(err as Error).message}`);
      return false;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  }

  it('reads the identity of the caller, and nothing else: no password hash', async () => {
    const readable: string[] = [];
    for (const { relation, column } of columns)
      if (await may(`SELECT ${column} FROM public.${relation} LIMIT 0`))
        readable.push(`${relation}.${column}`);
    assert.deepEqual(readable, READABLE);
    assert.equal(await may('SELECT * FROM public.users LIMIT 0'), false);
  });

  it('writes the counts of requests, and nothing else', async () => {
    for (const relation of new Set(columns.map((each) => each.relation))) {
      assert.equal(await may(`DELETE FROM public.${relation} WHERE false`), false, relation);
      assert.equal(await may(`TRUNCATE public.${relation}`), false, relation);
    }
    const { rows } = await billing.parts.db.query<{ at: string }>(
      `SELECT c.relname || '.' || a.attname AS at
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
         AND has_column_privilege('posthorn_billing', c.oid, a.attnum, 'INSERT, UPDATE, REFERENCES')
       ORDER BY 1`,
    );
    assert.deepEqual(
      rows.map(({ at }) => at),
      WRITABLE,
    );
  });

  it('loses the grants of an earlier version at the next migration', async () => {
    const { migrate } = await import('@posthorn/core/migrations/migrate.ts');
    await billing.parts.db.query('GRANT SELECT ON public.users, public.instances TO posthorn_billing');
    assert.equal(await may('SELECT password_hash FROM public.users LIMIT 0'), true);
    await migrate(billing.parts.url);
    assert.equal(await may('SELECT password_hash FROM public.users LIMIT 0'), false);
    assert.equal(await may('SELECT credentials FROM public.instances LIMIT 0'), false);
    assert.equal(await may('SELECT email FROM public.users LIMIT 0'), true);
  });
});
