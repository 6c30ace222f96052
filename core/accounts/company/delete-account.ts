import { apiError } from '@posthorn/contract/api-error.ts';
import { ACCOUNT_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import type { AccountDeleted } from '@posthorn/contract/messaging/auth.ts';
import { forgetCached } from '../../access/forget-cached.ts';
import type { Principal } from '../../access/principal.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { mails } from '../../mail/mails.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { companyNotification } from '../../webhooks/notifications.ts';
import type { AccountUser } from '../account-user.ts';
import { findAccountUser } from '../account-user.ts';
import { checkCurrentPassword } from '../check-current-password.ts';
import type { AccountDeps } from '../deps.ts';
import type { BillingClient } from './billing-client.ts';

type DeleteDeps = Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'mails' | 'forget'> & {
  /** Null: not configured. */
  billing: BillingClient | null;
};

/**
 * Deletes the company (ACC-25): subscriptions cancelled first, and nothing changed when that fails; then,
 * in one transaction, the logout of every instance, the end of every refresh token, and the status that
 * blocks all later requests. The purge job removes the data 30 days on. A second deletion answers 200
 * without counts. Throws 403 OWNER_ONLY, 401 INVALID_CURRENT_PASSWORD, 502 or 500 ACCOUNT_DELETION_FAILED.
 */
export async function deleteAccount(
  deps: DeleteDeps,
  input: { principal: Principal; currentPassword: string; traceId: string | null },
): Promise<AccountDeleted> {
  const { companyId, userId, role } = input.principal;
  if (role !== 'owner') throw apiError('OWNER_ONLY');
  const found = await findAccountUser(deps.db, userId);
  if (!found) throw apiError('TOKEN_INVALID');
  if (found.company_status === 'deleted') return alreadyDeleted;
  const user = await checkCurrentPassword(deps, { userId, currentPassword: input.currentPassword });
  const cancelled = await cancelSubscriptions(deps, companyId, input.traceId);
  try {
    const done = await markDeleted(deps, user, input.traceId);
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
    throw apiError('ACCOUNT_DELETION_FAILED', { status: 500, cause });
  }
}

const alreadyDeleted: AccountDeleted = {
  message: 'the account is deleted already',
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
  user: AccountUser,
  traceId: string | null,
): Promise<{ instances: number; deletedAt: Date } | null> {
  const companyId = user.company_id;
  return deps.db.transaction(async (sql) => {
    const deletedAt = deps.clock.now();
    const company = await sql.query(
      `UPDATE companies SET status = 'deleted', deleted_at = $2, updated_at = $2
       WHERE id = $1 AND status <> 'deleted'`,
      [companyId, deletedAt],
    );
    if (company.rowCount === 0) return null;
    const instances = await sql.query<{ id: string }>(
      `UPDATE instances SET wanted = 'logged_out', updated_at = $2 WHERE company_id = $1 RETURNING id`,
      [companyId, deletedAt],
    );
    await sql.query(`SELECT pg_notify('instance', id::text) FROM unnest($1::uuid[]) AS id`, [
      instances.rows.map((row) => row.id),
    ]);
    await sql.query(
      'UPDATE refresh_families SET revoked_at = $2 WHERE company_id = $1 AND revoked_at IS NULL',
      [companyId, deletedAt],
    );
    await sql.query(`SELECT pg_notify('deliveries', $1)`, [companyNotification(companyId)]);
    await forgetCached(sql, `company:${companyId}`);
    await recordAudit(sql, {
      companyId,
      userId: user.id,
      action: 'company.deleted',
      detail: { instances: instances.rows.length },
      traceId,
      at: deletedAt,
    });
    const purgeOn = new Date(deletedAt.getTime() + ACCOUNT_RETENTION_DAYS * DAY_MS);
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
    return { instances: instances.rows.length, deletedAt };
  });
}
