import type { UpdateUserBody, UserDto } from '@posthorn/contract/messaging/users.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import { lockPrincipal } from '../../access/lock-principal.ts';
import type { Principal } from '../../access/principal.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { AccountDeps } from '../deps.ts';
import { keepAnOwner } from './keep-an-owner.ts';
import { USER_COLUMNS, type UserRow, userView } from './user-view.ts';

/**
 * Changes a user's name or role; the new role holds from the next request on. Throws 404 NOT_FOUND; 409
 * CONFLICT for the last owner, and for superadmins, whom SUPERADMIN_EMAILS makes.
 */
export async function updateUser(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'forget' | 'settings'>,
  input: UpdateUserBody & { principal: Principal; userId: number; traceId: string | null },
): Promise<UserDto> {
  const { principal, userId, traceId } = input;
  const { companyId } = principal;
  const updated = await deps.db.transaction(async (sql) => {
    const at = deps.clock.now();
    const { superadminEmails } = deps.settings;
    const before = await keepAnOwner(sql, { companyId, userId, newRole: input.role, superadminEmails });
    await lockPrincipal(sql, principal);
    const { rows } = await sql.query<UserRow>(
      `UPDATE users SET name = coalesce($3, name), role = coalesce($4, role), updated_at = $5
       WHERE id = $2 AND company_id = $1 RETURNING ${USER_COLUMNS}`,
      [companyId, userId, input.name ?? null, input.role ?? null, at],
    );
    const by = { companyId, userId: principal.userId, tokenId: principal.tokenId, traceId, at };
    if (input.role !== undefined && input.role !== before.role) {
      await forgetCached(sql, `user:${userId}`);
      await recordAudit(sql, {
        ...by,
        action: 'user.role_changed',
        detail: { user_id: userId, from: before.role, to: input.role },
      });
    }
    if (input.name !== undefined && input.name !== before.name)
      await recordAudit(sql, { ...by, action: 'user.renamed', detail: { user_id: userId } });
    return userView(oneRow(rows));
  });
  deps.forget(`user:${userId}`);
  return updated;
}
