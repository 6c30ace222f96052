import type { Db } from '../platform/database/db.ts';
import { DAY_MS, HOUR_MS } from '../platform/durations.ts';
import { LOGIN_REMEMBERED_DAYS } from './sessions/remember-logins.ts';

/** Days that a spent link is still told apart from an unknown one (RESET_TOKEN_EXPIRED). */
const LINKS_KEPT_DAYS = 7;

/** Removes expired sessions, states and links; no answer changes because of it. */
export async function sweepExpired(deps: { db: Db }, now: Date): Promise<void> {
  const hourAgo = new Date(now.getTime() - HOUR_MS);
  const linksUntil = new Date(now.getTime() - LINKS_KEPT_DAYS * DAY_MS);
  await removeExpiredTokens(deps.db, now);
  const statements: [string, Date][] = [
    // All are found before the first one goes: the streams of all companies wait for a transaction that has written.
    [
      `DELETE FROM refresh_families WHERE id = ANY (ARRAY(
         SELECT id FROM refresh_families f WHERE created_at < $1
           AND NOT EXISTS (SELECT FROM refresh_tokens t WHERE t.family_id = f.id)))`,
      now,
    ],
    ['DELETE FROM revoked_jwts WHERE expires_at <= $1', now],
    ['DELETE FROM oauth_states WHERE expires_at <= $1', now],
    ['DELETE FROM oauth_pending WHERE expires_at <= $1', now],
    ['DELETE FROM password_links WHERE expires_at <= $1', linksUntil],
    [
      'DELETE FROM login_failures WHERE window_started_at <= $1 AND (locked_until IS NULL OR locked_until <= $1)',
      hourAgo,
    ],
    ['DELETE FROM mails WHERE failed_at <= $1', linksUntil],
    ['DELETE FROM mail_budgets WHERE full_at <= $1', now],
    [
      'DELETE FROM login_successes WHERE last_at <= $1',
      new Date(now.getTime() - LOGIN_REMEMBERED_DAYS * DAY_MS),
    ],
    ['DELETE FROM spent_tickets WHERE expires_at <= $1', now],
    // Minutes, not days: what is an hour old no longer counts.
    ['DELETE FROM rate_windows WHERE minute < extract(epoch FROM $1::timestamptz) / 60', hourAgo],
    ['DELETE FROM address_windows WHERE minute < extract(epoch FROM $1::timestamptz) / 60', hourAgo],
  ];
  for (const [text, before] of statements) await deps.db.query(text, [before]);
}

const BATCH = 5_000;

/**
 * A rotated token stays until it expires, so that a reuse is recognised; from then on it is refused like an unknown one. A session
 * of months leaves thousands of them, which would all be looked at to find out whether it has a token left.
 */
async function removeExpiredTokens(db: Db, now: Date): Promise<void> {
  let gone: number;
  do {
    const { rowCount } = await db.query(
      `DELETE FROM refresh_tokens WHERE token_hash = ANY (ARRAY(
         SELECT token_hash FROM refresh_tokens WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${BATCH}))`,
      [now],
    );
    gone = rowCount ?? 0;
  } while (gone === BATCH);
}
