import { apiError } from '@posthorn/contract/api-error.ts';
import type { Me } from '@posthorn/contract/messaging/auth.ts';
import type { Principal } from '../../access/principal.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { findAccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { uniqueError } from '../unique-error.ts';

/**
 * A user's own name, and for the owner the company's; the slug stays (ACC-3, ACC-21). No field at all changes
 * nothing. Throws 403 OWNER_ONLY, 409 CONFLICT for a name that another company has.
 */
export async function updateProfile(
  deps: Pick<AccountDeps, 'db' | 'clock'>,
  input: {
    principal: Principal;
    name: string | undefined;
    companyName: string | undefined;
    traceId: string | null;
  },
): Promise<Me> {
  const { principal, name, companyName, traceId } = input;
  // Also not a superadmin, who passes everywhere else.
  if (companyName !== undefined && principal.role !== 'owner') throw apiError('OWNER_ONLY');
  try {
    return await deps.db.transaction(async (sql) => {
      const at = deps.clock.now();
      const { companyId, userId } = principal;
      if (name !== undefined)
        await sql.query('UPDATE users SET name = $2, updated_at = $3 WHERE id = $1', [userId, name, at]);
      if (companyName !== undefined) {
        await sql.query('UPDATE companies SET name = $2, updated_at = $3 WHERE id = $1', [
          companyId,
          companyName,
          at,
        ]);
        await recordAudit(sql, {
          companyId,
          userId,
          action: 'company.renamed',
          detail: { name: companyName },
          traceId,
          at,
        });
      }
      const user = await findAccountUser(sql, userId);
      if (!user) throw apiError('TOKEN_INVALID');
      return {
        user: { id: user.id, email: user.email, name: user.name, role: user.role },
        company: { id: user.company_id, name: user.company_name, slug: user.company_slug },
      };
    });
  } catch (cause) {
    throw uniqueError(cause) ?? cause;
  }
}
