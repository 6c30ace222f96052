import { recordAudit } from '../../audit/record-audit.ts';
import type { Sql } from '../../platform/db.ts';
import type { AccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { endSessions } from '../end-sessions.ts';
import { forgetCached } from '../forget-cached.ts';
import type { ProviderName } from './provider.ts';

/**
 * Ties a provider's identity to the user who has its verified e-mail, and returns the user as it is then.
 *
 * An account whose e-mail was never verified may have been made by anybody, in wait for the mailbox's owner
 * to log in: its password, keys and sessions end here, so that the owner shares it with nobody
 * (docs/decisions/0300-oauth-takes-over-unverified-accounts.md).
 */
export async function linkIdentity(
  deps: Pick<AccountDeps, 'clock'>,
  sql: Sql,
  input: { user: AccountUser; provider: ProviderName; subject: string; traceId: string | null },
): Promise<AccountUser> {
  const { user, provider, subject, traceId } = input;
  const now = deps.clock.now();
  await sql.query(
    `INSERT INTO oauth_identities (provider, subject, user_id, company_id, created_at)
     VALUES ($1, $2, $3, $4, $5)`,
    [provider, subject, user.id, user.company_id, now],
  );
  await recordAudit(sql, {
    companyId: user.company_id,
    userId: user.id,
    action: 'oauth.linked',
    detail: { provider, took_over: !user.email_verified },
    traceId,
    at: now,
  });
  if (user.email_verified) return user;
  const { rows } = await sql.query<{ changed_at_ms: number }>(
    `UPDATE users SET email_verified_at = $2, updated_at = $2, password_hash = NULL, password_changed_jti = NULL,
       password_changed_at = greatest($2::timestamptz, date_trunc('milliseconds', password_changed_at) + interval '1 ms')
     WHERE id = $1
     RETURNING floor(extract(epoch FROM password_changed_at) * 1000)::bigint AS changed_at_ms`,
    [user.id, now],
  );
  const keys = await sql.query<{ id: number }>(
    'UPDATE api_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING id',
    [user.id, now],
  );
  await sql.query('DELETE FROM password_links WHERE user_id = $1', [user.id]);
  await sql.query('DELETE FROM email_codes WHERE user_id = $1', [user.id]);
  await endSessions(sql, user.id, now);
  await forgetCached(sql, `user:${user.id}`, ...keys.rows.map((key) => `token:${key.id}` as const));
  return {
    ...user,
    email_verified: true,
    password_hash: null,
    password_changed_at_ms: rows[0]!.changed_at_ms,
  };
}
