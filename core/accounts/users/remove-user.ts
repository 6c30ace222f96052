import { apiError } from '@posthorn/contract/api-error.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import { lockPrincipal } from '../../access/lock-principal.ts';
import type { Principal } from '../../access/principal.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { AccountDeps } from '../deps.ts';
import { keepAnOwner } from './keep-an-owner.ts';

/**
 * Removes a user with keys, sessions, codes and identities (by the foreign keys); their JWTs and keys are
 * refused from the next request on. Throws 404 NOT_FOUND; 409 CONFLICT for oneself.
 */
export async function removeUser(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'forget' | 'settings'>,
  input: { principal: Principal; userId: number; traceId: string | null },
): Promise<void> {
  const { principal, userId, traceId } = input;
  const { companyId } = principal;
  await deps.db.transaction(async (sql) => {
    if (userId === principal.userId)
      throw apiError('CONFLICT', { message: 'you cannot remove yourself; delete the account instead' });
    const { superadminEmails } = deps.settings;
    const user = await keepAnOwner(sql, { companyId, userId, newRole: null, superadminEmails });
    await lockPrincipal(sql, principal);
    await sql.query('DELETE FROM users WHERE company_id = $1 AND id = $2', [companyId, userId]);
    await forgetCached(sql, `user:${userId}`);
    await recordAudit(sql, {
      companyId,
      userId: principal.userId,
      tokenId: principal.tokenId,
      action: 'user.removed',
      detail: { user_id: userId, role: user.role },
      traceId,
      at: deps.clock.now(),
    });
  });
  deps.forget(`user:${userId}`);
}
