import pg from 'pg';
import type { Log } from './log.ts';

/** The role that the billing service works as: owner of nothing, at home in the schema `billing`. */
export const BILLING_ROLE = 'posthorn_billing';

/** What billing reads of messaging's tables: who is asking, whether the company is there, and which workers live. */
const READ_TABLES = ['companies', 'users', 'api_tokens', 'revoked_jwts', 'workers'];

/**
 * Makes the schema and, where the migrating user may, the role. Roles belong to the whole cluster: another
 * database's migration may be making the same one, and a user without CREATEROLE makes none (billing then
 * works as the user it logs in with; see {@link billingConnectionUrl}).
 */
export async function makeBillingRole(client: pg.Client): Promise<void> {
  await client.query('CREATE SCHEMA IF NOT EXISTS billing');
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
}

/** After the migrations, each time: a new table must not wait for somebody to remember its grant. */
export async function grantToBillingRole(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [BILLING_ROLE]);
  if (rows.length === 0) return;
  await client.query(`
    GRANT USAGE ON SCHEMA billing, public TO ${BILLING_ROLE};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA billing TO ${BILLING_ROLE};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA billing TO ${BILLING_ROLE};
    GRANT SELECT ON ${READ_TABLES.join(', ')} TO ${BILLING_ROLE};`);
}

/**
 * How the billing service connects: `own` as it is when given, otherwise messaging's URL, become the
 * billing role. `billing` stands first in the search path, so that the shared rate limiter counts in
 * billing's own table and never writes messaging's.
 */
export async function billingConnectionUrl(options: {
  databaseUrl: string;
  own: string | undefined;
  log: Log;
}): Promise<string> {
  // What a URL says of options stands in place of the pool's own: jit is off there too.
  const settings = ['-c jit=off', '-c search_path=billing,public'];
  if (options.own === undefined) {
    if (await mayBecomeBillingRole(options.databaseUrl)) settings.push(`-c role=${BILLING_ROLE}`);
    else
      options.log.warn({ role: BILLING_ROLE }, 'the database role cannot be used, billing works without it');
  }
  const url = new URL(options.own ?? options.databaseUrl);
  url.searchParams.set('options', [url.searchParams.get('options') ?? '', ...settings].join(' ').trim());
  return url.href.replaceAll('+', '%20');
}

async function mayBecomeBillingRole(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    await client.query(`SET ROLE ${BILLING_ROLE}`);
    return true;
  } catch (err) {
    // 42501: may not; 22023: there is no such role.
    if (['42501', '22023'].includes(String((err as { code?: unknown }).code))) return false;
    throw err;
  } finally {
    await client.end();
  }
}
