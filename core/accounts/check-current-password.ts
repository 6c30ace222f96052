import { apiError } from '@posthorn/contract/api-error.ts';
import { CURRENT_PASSWORD_FAILURES_MAX } from '@posthorn/contract/limits.ts';
import { type AccountUser, findAccountUser } from './account-user.ts';
import type { AccountDeps } from './deps.ts';
import { countFailure, lockedError, passLockout } from './sessions/login-lockout.ts';

/**
 * The user, once the current password has been checked. Throws 401 INVALID_CURRENT_PASSWORD; 429 RATE_LIMITED after
 * too many wrong ones, or whoever stole a session could guess on for as long as it lasts. Logins are counted apart from these.
 */
export async function checkCurrentPassword(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'digest'>,
  input: { userId: number; currentPassword: string },
): Promise<AccountUser> {
  const user = await findAccountUser(deps.db, input.userId);
  const asker = { key: `user ${input.userId}`, isTrusted: true };
  const right = await deps.passwords.verifyPassword(
    user?.password_hash ?? null,
    input.currentPassword,
    asker,
  );
  const key = deps.digest.digest('current-password', String(input.userId));
  if (!right || !user) {
    const max = CURRENT_PASSWORD_FAILURES_MAX;
    const { lockedBefore } = await countFailure(deps, deps.db, { key, max });
    throw lockedBefore
      ? lockedError(deps, lockedBefore, 'RATE_LIMITED')
      : apiError('INVALID_CURRENT_PASSWORD');
  }
  await passLockout(deps, deps.db, key, 'RATE_LIMITED');
  return user;
}
