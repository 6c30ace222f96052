import { apiError } from '@posthorn/contract/api-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { mails } from '../../mail/mails.ts';
import { findAccountUser } from '../account-user.ts';
import { checkCurrentPassword } from '../check-current-password.ts';
import type { AccountDeps } from '../deps.ts';
import { setPassword } from './set-password.ts';

/**
 * Changes the password: refresh tokens end, the JWT that asked stays valid until it expires, every other
 * older one answers PASSWORD_CHANGED (ACC-10, ACC-22). Throws 401 INVALID_CURRENT_PASSWORD.
 */
export async function changePassword(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'digest' | 'mails' | 'forget'>,
  input: {
    userId: number;
    jti: string | null;
    currentPassword: string;
    newPassword: string;
    traceId: string | null;
  },
): Promise<void> {
  const { userId, jti, traceId } = input;
  const checked = await checkCurrentPassword(deps, input);
  const passwordHash = await deps.passwords.hashPassword(input.newPassword, {
    key: `user ${userId}`,
    isTrusted: true,
  });
  await deps.db.transaction(async (sql) => {
    const user = await findAccountUser(sql, userId, { lock: true });
    // Changed concurrently: the password that was checked is no longer the current one.
    if (user?.password_hash !== checked.password_hash) throw apiError('INVALID_CURRENT_PASSWORD');
    const now = deps.clock.now();
    await setPassword(sql, { userId, passwordHash, keepJti: jti, now });
    await recordAudit(sql, {
      companyId: user.company_id,
      userId,
      action: 'password.changed',
      traceId,
      at: now,
    });
    await deps.mails.queue(sql, {
      ...mails.passwordChanged({ name: user.name }),
      to: user.email,
      kind: 'password_changed',
      companyId: user.company_id,
      traceId,
    });
  });
  deps.forget(`user:${userId}`);
}
