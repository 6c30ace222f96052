import { apiError } from '@posthorn/contract/api-error.ts';
import { type AccountUser, findAccountUser } from './account-user.ts';
import type { AccountDeps } from './deps.ts';

/** The user, once the current password has been checked. Throws 401 INVALID_CURRENT_PASSWORD. */
export async function checkCurrentPassword(
  deps: Pick<AccountDeps, 'db' | 'passwords'>,
  input: { userId: number; currentPassword: string },
): Promise<AccountUser> {
  const user = await findAccountUser(deps.db, input.userId);
  const asker = { key: `user ${input.userId}`, isTrusted: true };
  const right = await deps.passwords.verifyPassword(
    user?.password_hash ?? null,
    input.currentPassword,
    asker,
  );
  if (!right || !user) throw apiError('INVALID_CURRENT_PASSWORD');
  return user;
}
