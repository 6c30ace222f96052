import type { Sql } from '../../platform/database/db.ts';
import { DAY_MS } from '../../platform/durations.ts';
import type { AccountDeps } from '../deps.ts';

/** Days that an address and an e-mail count as known after a login. */
export const LOGIN_REMEMBERED_DAYS = 30;
/** An entry older than this is written again: not at every login. */
const FRESH_DAYS = 15;

/** The keys by which a login is recognized. Known or not, both are keyed hashes: the table names nobody. */
export function loginKeys(
  deps: Pick<AccountDeps, 'digest'>,
  login: { email: string; address: string },
): Buffer[] {
  return [
    deps.digest.digest('login-success', `email ${login.email}`),
    deps.digest.digest('login-success', `address ${login.address}`),
  ];
}

/**
 * How many of $4 (the keys) are remembered, and how many of them freshly; part of the look-up of a login, with
 * the moments of {@link memoryBounds} as $5 and $6.
 */
export const REMEMBERED_COLUMNS = `
  (SELECT count(*) FROM login_successes s WHERE s.key_hash = ANY ($4::bytea[]) AND s.last_at > $5) AS remembered,
  (SELECT count(*) FROM login_successes s WHERE s.key_hash = ANY ($4::bytea[]) AND s.last_at > $6) AS fresh`;

export function memoryBounds(now: Date): [remembered: Date, fresh: Date] {
  const daysAgo = (days: number) => new Date(now.getTime() - days * DAY_MS);
  return [daysAgo(LOGIN_REMEMBERED_DAYS), daysAgo(FRESH_DAYS)];
}

/** After a login that succeeded. In a statement of its own: the logins of one address must not wait for each other. */
export async function rememberLogin(sql: Sql, keys: Buffer[], now: Date): Promise<void> {
  await sql.query(
    `INSERT INTO login_successes (key_hash, last_at)
     SELECT key, $2 FROM unnest($1::bytea[]) AS key ORDER BY key
     ON CONFLICT (key_hash) DO UPDATE SET last_at = excluded.last_at`,
    [keys, now],
  );
}
