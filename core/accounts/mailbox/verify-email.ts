import { apiError } from '@posthorn/contract/api-error.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { findAccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { issueSession, type SessionGrant } from '../sessions/issue-session.ts';
import { tryEmailCode } from './email-code.ts';

/**
 * Proves the e-mail with the six digits that were mailed, and begins a session. A quick registration counts as
 * verified at once and is proven by the code of its mail; any other code of such a user answers as if there were
 * none. Throws 409 EMAIL_ALREADY_VERIFIED; 400 EMAIL_VERIFICATION_CODE_INVALID, _EXPIRED (also when the code was
 * cleared); 429 EMAIL_VERIFICATION_MAX_ATTEMPTS at the fifth wrong one.
 */
export async function verifyEmail(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'jwt' | 'digest' | 'settings' | 'forget'>,
  input: { userId: number; code: string; traceId: string | null },
): Promise<SessionGrant> {
  const result = await deps.db.transaction(async (sql) => {
    const user = await findAccountUser(sql, input.userId, { lock: true });
    if (!user) throw apiError('TOKEN_INVALID');
    if (user.email_verified && user.email_proven) return 'verified';
    const outcome = await tryEmailCode(deps, sql, { ...input, purpose: 'verify' });
    // Returned, not thrown: the count of a wrong code has to be committed.
    if (outcome.is !== 'right') return user.email_verified ? 'verified' : outcome.is;
    const now = deps.clock.now();
    await sql.query(
      `UPDATE users SET email_verified_at = coalesce(email_verified_at, $2), email_proven_at = $2, updated_at = $2
       WHERE id = $1`,
      [user.id, now],
    );
    await forgetCached(sql, `user:${user.id}`);
    await recordAudit(sql, {
      companyId: user.company_id,
      userId: user.id,
      action: 'email.verified',
      traceId: input.traceId,
      at: now,
    });
    return issueSession(deps, sql, { ...user, email_verified: true, email_proven: true });
  });
  if (typeof result === 'object') {
    deps.forget(`user:${input.userId}`);
    return result;
  }
  if (result === 'verified') throw apiError('EMAIL_ALREADY_VERIFIED');
  if (result === 'wrong') throw apiError('EMAIL_VERIFICATION_CODE_INVALID');
  if (result === 'spent') throw apiError('EMAIL_VERIFICATION_MAX_ATTEMPTS');
  throw apiError('EMAIL_VERIFICATION_CODE_EXPIRED');
}
