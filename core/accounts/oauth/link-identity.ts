import { forgetCached } from '../../access/forget-cached.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Sql } from '../../platform/database/db.ts';
import type { AccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { takeOver } from '../mailbox/take-over.ts';
import type { ProviderName } from './provider.ts';

/**
 * Links a provider's identity to the user who has its verified e-mail, and returns the user as it is then. If that
 * address was never proven before, everybody else loses access to the account (take-over.ts).
 */
export async function linkIdentity(
  deps: Pick<AccountDeps, 'clock' | 'mails'>,
  sql: Sql,
  input: { user: AccountUser; provider: ProviderName; subject: string; traceId: string | null },
): Promise<AccountUser> {
  const { user, provider, subject, traceId } = input;
  const now = deps.clock.now();
  const taken = await takeOver(deps, sql, { user, by: provider, traceId });
  const linked = await sql.query(
    `INSERT INTO oauth_identities (provider, subject, user_id, company_id, created_at)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [provider, subject, user.id, user.company_id, now],
  );
  // By the login of another tab, which held the user's row until now.
  if (linked.rowCount === 0) return taken;
  await recordAudit(sql, {
    companyId: user.company_id,
    userId: user.id,
    action: 'oauth.linked',
    detail: { provider, took_over: !user.email_proven },
    traceId,
    at: now,
  });
  if (user.email_verified) return taken;
  await sql.query('UPDATE users SET email_verified_at = $2, updated_at = $2 WHERE id = $1', [user.id, now]);
  await sql.query('DELETE FROM email_codes WHERE user_id = $1', [user.id]);
  await forgetCached(sql, `user:${user.id}`);
  return { ...taken, email_verified: true };
}
