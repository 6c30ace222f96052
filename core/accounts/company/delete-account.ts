import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { ACCOUNT_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import type { AccountDeleted } from '@posthorn/contract/messaging/auth.ts';
import type { Principal } from '../../access/principal.ts';
import { PLATFORM_COMPANY_ID } from '../../access/superadmin.ts';
import { mails } from '../../mail/mails.ts';
import { DAY_MS } from '../../platform/durations.ts';
import type { AccountUser } from '../account-user.ts';
import { findAccountUser } from '../account-user.ts';
import { checkCurrentPassword } from '../check-current-password.ts';
import type { AccountDeps } from '../deps.ts';
import { isApiErrorOf } from '../is-api-error.ts';
import type { BillingClient } from './billing-client.ts';
import { markCompanyDeleted } from './mark-company-deleted.ts';

type DeleteDeps = Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'digest' | 'mails' | 'forget'> & {
  /** Null: not configured. */
  billing: BillingClient | null;
};

/**
 * Deletes the company (ACC-25): subscriptions cancelled first, and nothing changed when that fails; then,
 * in one transaction, the logout of every instance, the end of every refresh token, and the status that
 * blocks all later requests. The purge job removes the data 30 days on. A second deletion answers 200
 * without counts. Throws 403 OWNER_ONLY, for the platform's own company too, 401 INVALID_CURRENT_PASSWORD, 502 or 500
 * ACCOUNT_DELETION_FAILED.
 */
export async function deleteAccount(
  deps: DeleteDeps,
  input: { principal: Principal; currentPassword: string; traceId: string | null },
): Promise<AccountDeleted> {
  const { companyId, userId, role } = input.principal;
  if (role !== 'owner') throw apiError('OWNER_ONLY');
  if (companyId === PLATFORM_COMPANY_ID)
    throw apiError('OWNER_ONLY', { message: 'the platform itself cannot be deleted' });
  const found = await findAccountUser(deps.db, userId);
  if (!found) throw apiError('TOKEN_INVALID');
  if (found.company_status === 'deleted') return alreadyDeleted;
  const user = await checkCurrentPassword(deps, { userId, currentPassword: input.currentPassword });
  const cancelled = await cancelSubscriptions(deps, companyId, input.traceId);
  try {
    const done = await markDeleted(deps, { user, by: input.principal, traceId: input.traceId });
    if (!done) return alreadyDeleted;
    deps.forget(`company:${companyId}`);
    return {
      message: `account deleted; its data is removed after ${ACCOUNT_RETENTION_DAYS} days`,
      requires_relogin: true,
      billing_cancelled: cancelled,
      instances_logout: done.instances,
      deleted_at: done.deletedAt.toISOString(),
    };
  } catch (cause) {
    // Billing takes its time, in which another owner may have removed whoever asked.
    if (isApiErrorOf(cause, 'INSUFFICIENT_PERMISSIONS')) throw apiError('OWNER_ONLY', { cause });
    if (cause instanceof ApiError) throw cause;
    throw apiError('ACCOUNT_DELETION_FAILED', { status: 500, cause });
  }
}

const alreadyDeleted: AccountDeleted = {
  message: 'the account is already deleted',
  requires_relogin: true,
};

async function cancelSubscriptions(
  deps: DeleteDeps,
  companyId: number,
  traceId: string | null,
): Promise<number> {
  if (!deps.billing)
    throw apiError('ACCOUNT_DELETION_FAILED', { cause: new Error('billing is not configured') });
  try {
    return await deps.billing.cancelSubscriptions({ companyId, traceId });
  } catch (cause) {
    throw apiError('ACCOUNT_DELETION_FAILED', { cause });
  }
}

/** Null when a concurrent request has deleted it first. */
async function markDeleted(
  deps: DeleteDeps,
  input: { user: AccountUser; by: Principal; traceId: string | null },
): Promise<{ instances: number; deletedAt: Date } | null> {
  const { user, by, traceId } = input;
  const companyId = user.company_id;
  const at = deps.clock.now();
  const purgeOn = new Date(at.getTime() + ACCOUNT_RETENTION_DAYS * DAY_MS);
  const done = await markCompanyDeleted(deps.db, { companyId, by, traceId, at }, async (sql) => {
    await deps.mails.queue(sql, {
      ...mails.accountDeleted({
        name: user.name,
        company: user.company_name,
        purgeOn: purgeOn.toISOString().slice(0, 10),
      }),
      to: user.email,
      kind: 'account_deleted',
      companyId,
      traceId,
    });
  });
  return done && { instances: done.instances, deletedAt: at };
}
