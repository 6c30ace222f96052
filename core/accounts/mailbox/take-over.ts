import { forgetCached } from '../../access/forget-cached.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { mails } from '../../mail/mails.ts';
import type { Sql } from '../../platform/database/db.ts';
import { type AccountUser, findAccountUser } from '../account-user.ts';
import { type ClearedCompany, clearCompany } from '../company/clear-company.ts';
import type { AccountDeps } from '../deps.ts';
import { endSessions } from '../sessions/end-sessions.ts';

/** How the mailbox was proven: by a provider, or by a link that was mailed. */
export type Arrival = 'google' | 'github' | 'reset' | 'invite';

/**
 * Gives the owner of a mailbox the account that has its address, and returns the user as it is then. For an address
 * that was proven before, nothing changes.
 *
 * An unproven address may have been put into an account by anybody, to wait for its owner: by registering it, or by
 * creating a user with it and a known password. So everything is revoked that could let somebody else in: password,
 * keys, sessions, JWTs, links, a pending e-mail change, other identities. If the user registered the company, it
 * becomes the company's only user (clear-company.ts; docs/decisions/0008-oauth-takes-over-unverified-accounts.md).
 * Runs in the caller's transaction, which holds the user's row; the caller calls `deps.forget` for the user and the
 * company after its commit.
 */
export async function takeOver(
  deps: Pick<AccountDeps, 'clock' | 'mails'>,
  sql: Sql,
  input: { user: AccountUser; by: Arrival; traceId: string | null },
): Promise<AccountUser> {
  const { user, by, traceId } = input;
  if (user.email_proven) return user;
  const at = deps.clock.now();
  const keys = await endAccess(sql, user.id, at);
  const cleared =
    user.is_founder && user.role === 'owner'
      ? await clearCompany(deps, sql, { companyId: user.company_id, keepUserId: user.id, traceId })
      : null;
  await endSessions(sql, { userId: user.id, at });
  await forgetCached(sql, ...keys.map((id) => `token:${id}` as const));
  // An invited user without credentials loses nothing.
  if (user.password_hash !== null || keys.length > 0 || cleared)
    await tell(deps, sql, { user, by, keys: keys.length, cleared, at, traceId });
  return (await findAccountUser(sql, user.id))!;
}

/** Whether {@link takeOver} would revoke what somebody may have set up: people should be warned first. */
export function endsSomething(user: AccountUser): boolean {
  return !user.email_proven && user.password_hash !== null;
}

/** Marks the address as proven and revokes what its account had; returns the revoked keys. */
async function endAccess(sql: Sql, userId: number, at: Date): Promise<number[]> {
  // Never the same millisecond twice: JWTs carry it, and only a later one tells them apart.
  await sql.query(
    `UPDATE users SET email_proven_at = $2, updated_at = $2, password_hash = NULL,
       password_changed_at = greatest($2::timestamptz, date_trunc('milliseconds', password_changed_at) + interval '1 ms')
     WHERE id = $1`,
    [userId, at],
  );
  const keys = await sql.query<{ id: number }>(
    'UPDATE api_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING id',
    [userId, at],
  );
  await sql.query('DELETE FROM password_links WHERE user_id = $1', [userId]);
  // A verification code was sent to this very mailbox and stays valid.
  await sql.query(`DELETE FROM email_codes WHERE user_id = $1 AND purpose = 'change'`, [userId]);
  await sql.query('DELETE FROM oauth_identities WHERE user_id = $1', [userId]);
  return keys.rows.map((key) => key.id);
}

async function tell(
  deps: Pick<AccountDeps, 'mails'>,
  sql: Sql,
  input: {
    user: AccountUser;
    by: Arrival;
    keys: number;
    cleared: ClearedCompany | null;
    at: Date;
    traceId: string | null;
  },
): Promise<void> {
  const { user, by, keys, cleared, at, traceId } = input;
  await recordAudit(sql, {
    companyId: user.company_id,
    userId: user.id,
    action: 'account.taken_over',
    detail: { by, keys, ...cleared },
    traceId,
    at,
  });
  await deps.mails.queue(sql, {
    ...mails.accountTakenOver({ company: user.company_name, keys, cleared }),
    to: user.email,
    kind: 'account_taken_over',
    companyId: user.company_id,
    traceId,
  });
}
