import { apiError } from '@posthorn/contract/api-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { findAccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { isApiErrorOf } from '../is-api-error.ts';
import { endSessions } from '../sessions/end-sessions.ts';
import { uniqueError } from '../unique-error.ts';
import { tryEmailCode } from './email-code.ts';
import { releaseAddress } from './release-address.ts';

/**
 * Replaces the e-mail once the code from the new mailbox is typed; every session ends (ACC-24).
 * Throws 404 EMAIL_CHANGE_NOT_FOUND (none pending, expired or destroyed, whatever was typed), 400 EMAIL_CHANGE_CODE_INVALID, 429
 * EMAIL_CHANGE_LOCKED at the fifth wrong one, 409 EMAIL_ALREADY_TAKEN when somebody was faster.
 */
export async function confirmEmailChange(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'digest' | 'forget'>,
  input: { companyId: number; userId: number; code: string; traceId: string | null },
): Promise<void> {
  const { companyId, userId, traceId } = input;
  const outcome = await confirm().catch((cause) => {
    const error = uniqueError(cause);
    throw isApiErrorOf(error, 'EMAIL_ALREADY_REGISTERED')
      ? apiError('EMAIL_ALREADY_TAKEN', { cause })
      : cause;
  });
  if (outcome === 'wrong') throw apiError('EMAIL_CHANGE_CODE_INVALID');
  if (outcome === 'spent') throw apiError('EMAIL_CHANGE_LOCKED');
  if (outcome !== 'right') throw apiError('EMAIL_CHANGE_NOT_FOUND');
  deps.forget(`user:${userId}`);

  function confirm() {
    return deps.db.transaction(async (sql) => {
      // The user's row is locked before the code's, in the order of a take-over.
      await findAccountUser(sql, userId, { lock: true });
      const tried = await tryEmailCode(deps, sql, { userId, purpose: 'change', code: input.code });
      // Returned, not thrown: the count of a wrong code has to be committed.
      if (tried.is !== 'right') return tried.is;
      const at = deps.clock.now();
      await releaseAddress(sql, { email: tried.newEmail!, now: at });
      await sql.query(
        `UPDATE users SET email = $2, email_verified_at = $3, email_proven_at = $3, updated_at = $3 WHERE id = $1`,
        [userId, tried.newEmail, at],
      );
      // Links and codes that were sent to the old mailbox no longer prove anything.
      await sql.query('DELETE FROM password_links WHERE user_id = $1', [userId]);
      await sql.query('DELETE FROM email_codes WHERE user_id = $1', [userId]);
      await endSessions(sql, { userId, at });
      await recordAudit(sql, { companyId, userId, action: 'email.changed', traceId, at });
      return tried.is;
    });
  }
}
