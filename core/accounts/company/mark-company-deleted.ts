import { forgetCached } from '../../access/forget-cached.ts';
import { lockPrincipal } from '../../access/lock-principal.ts';
import type { Principal } from '../../access/principal.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Db, Sql } from '../../platform/database/db.ts';
import { companyNotification } from '../../webhooks/notifications.ts';

/**
 * Blocks a company for good: its instances are logged out, its sessions end, every later request is refused. Gives the number of instances,
 * null when it was deleted already. `by` has to be who they were when they asked: throws as `lockPrincipal`. `also` runs in
 * the same transaction.
 */
export async function markCompanyDeleted(
  db: Db,
  deleted: { companyId: number; by: Principal | null; traceId: string | null; at: Date },
  also: (sql: Sql) => Promise<void> = async () => undefined,
): Promise<{ instances: number } | null> {
  const { companyId, by, traceId, at } = deleted;
  return db.transaction(async (sql) => {
    // Before the company, as whoever makes something in it does: the other order is a deadlock.
    await sql.query('SELECT FROM users WHERE company_id = $1 ORDER BY id FOR UPDATE', [companyId]);
    // The first of two deletions ends the session of the second, which is no reason to refuse the second.
    const before = await sql.query(`SELECT FROM companies WHERE id = $1 AND status <> 'deleted'`, [
      companyId,
    ]);
    if (before.rowCount === 0) return null;
    if (by) await lockPrincipal(sql, by);
    const company = await sql.query(
      `UPDATE companies SET status = 'deleted', deleted_at = $2, updated_at = $2
       WHERE id = $1 AND status <> 'deleted'`,
      [companyId, at],
    );
    if (company.rowCount === 0) return null;
    const instances = await sql.query<{ id: string }>(
      `UPDATE instances SET wanted = 'logged_out', updated_at = $2 WHERE company_id = $1 RETURNING id`,
      [companyId, at],
    );
    await sql.query(`SELECT pg_notify('instance', id::text) FROM unnest($1::uuid[]) AS id`, [
      instances.rows.map((row) => row.id),
    ]);
    await sql.query(
      'UPDATE refresh_families SET revoked_at = $2 WHERE company_id = $1 AND revoked_at IS NULL',
      [companyId, at],
    );
    await sql.query(`SELECT pg_notify('deliveries', $1)`, [companyNotification(companyId)]);
    await forgetCached(sql, `company:${companyId}`);
    await recordAudit(sql, {
      companyId,
      userId: by?.userId ?? null,
      action: 'company.deleted',
      detail: { instances: instances.rows.length },
      traceId,
      at,
    });
    await also(sql);
    return { instances: instances.rows.length };
  });
}
