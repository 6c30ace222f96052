import type pg from 'pg';
import { ClusterClient } from '../platform/database/cluster-client.ts';
import type { Log } from '../platform/process/log.ts';

/** The role of the billing service: it owns nothing and works in the schema `billing`. */
export const BILLING_ROLE = 'posthorn_billing';

/**
 * The columns of messaging's tables that billing may read: those that authentication needs, those that tell whether the
 * company exists and which update of its limits it has. No password hash, no name, nothing sealed.
 */
export const BILLING_READS: Readonly<Record<string, readonly string[]>> = {
  companies: ['id', 'status', 'requests_per_minute', 'billing_version'],
  users: [
    'id',
    'company_id',
    'email',
    'role',
    'is_superadmin',
    'email_verified_at',
    'password_changed_at',
    'password_changed_jti',
  ],
  api_tokens: ['id', 'company_id', 'user_id', 'key_hash', 'revoked_at', 'last_used_at'],
  revoked_jwts: ['jti'],
  refresh_families: ['id', 'user_id', 'revoked_at'],
  // Which workers are alive.
  workers: ['id'],
};

/** Tables that billing may write there: the counts of requests, which both services share. */
const COUNT_TABLES = ['rate_windows', 'address_windows'];

/** Creates the schema and, where the migrating user may, the role. */
export async function makeBillingSchema(client: pg.Client): Promise<void> {
  await client.query('CREATE SCHEMA IF NOT EXISTS billing');
  await makeBillingRole(client);
}

/**
 * Creates the role where the user may; true when it exists. Roles belong to the whole cluster: another database's
 * migration may be creating the same one, and a user without CREATEROLE creates none (billing then works as the
 * user it logs in with; see {@link billingConnectionUrl}).
 */
export async function makeBillingRole(client: pg.Client): Promise<boolean> {
  await client.query(`
    DO $$ BEGIN
      IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${BILLING_ROLE}') THEN
        CREATE ROLE ${BILLING_ROLE} NOLOGIN;
      END IF;
      IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT ${BILLING_ROLE} TO %I', current_user);
      END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN NULL;
    END $$`);
  return hasBillingRole(client);
}

async function hasBillingRole(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [BILLING_ROLE]);
  return rowCount === 1;
}

/**
 * Runs after every migration: the grant for a new table of billing cannot be forgotten, and grants of an earlier
 * version on messaging's tables are revoked. One statement list, so one transaction: billing's queries never run
 * without their rights.
 */
export async function grantToBillingRole(client: pg.Client): Promise<void> {
  if (!(await hasBillingRole(client))) return;
  const grants = Object.entries(BILLING_READS).map(
    ([table, columns]) => `GRANT SELECT (${columns.join(', ')}) ON ${table} TO ${BILLING_ROLE};`,
  );
  await client.query(`
    GRANT USAGE ON SCHEMA billing, public TO ${BILLING_ROLE};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA billing TO ${BILLING_ROLE};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA billing TO ${BILLING_ROLE};
    REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${BILLING_ROLE};
    ${grants.join('\n    ')}
    GRANT SELECT, INSERT, UPDATE ON ${COUNT_TABLES.join(', ')} TO ${BILLING_ROLE};`);
}

/**
 * How the billing service connects: `own` as it is when given, otherwise messaging's URL with the billing role.
 * `billing` is first in the search path: unqualified names are billing's own.
 */
export async function billingConnectionUrl(options: {
  databaseUrl: string;
  own: string | undefined;
  log: Log;
}): Promise<string> {
  // The options of a URL replace those of the pool: jit is off there too.
  const settings = ['-c jit=off', '-c search_path=billing,public'];
  if (options.own === undefined) {
    if (await mayBecomeBillingRole(options.databaseUrl)) settings.push(`-c role=${BILLING_ROLE}`);
    else
      options.log.warn(
        { role: BILLING_ROLE },
        'the database role cannot be used: billing works with all rights of its user. With CREATEROLE, migrate makes the role',
      );
  }
  const url = new URL(options.own ?? options.databaseUrl);
  url.searchParams.set('options', [url.searchParams.get('options') ?? '', ...settings].join(' ').trim());
  // PostgreSQL's clients know no other blank. A plus in the user's name or password is one.
  url.search = url.search.replaceAll('+', '%20');
  return url.href;
}

async function mayBecomeBillingRole(databaseUrl: string): Promise<boolean> {
  const client = new ClusterClient({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    await client.query(`SET ROLE ${BILLING_ROLE}`);
    return true;
  } catch (err) {
    // 42501: not allowed; 22023: no such role.
    if (['42501', '22023'].includes(String((err as { code?: unknown }).code))) return false;
    throw err;
  } finally {
    await client.end();
  }
}
