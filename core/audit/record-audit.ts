import type { Sql } from '../platform/database/db.ts';

/** A line of the audit log. Names only: `detail` carries ids and names, never a secret. */
export interface AuditEntry {
  companyId: number;
  /** Null when nobody was logged in, e.g. a password reset by link. */
  userId: number | null;
  tokenId?: number | null;
  action: AuditAction;
  instanceId?: string | null;
  detail?: Record<string, unknown>;
  traceId: string | null;
  at: Date;
}

/** `<thing>.<what happened to it>`. */
export type AuditAction =
  | 'company.registered'
  | 'company.renamed'
  | 'company.deleted'
  | 'company.suspended'
  | 'company.reactivated'
  | 'session.login'
  | 'session.login_failed'
  | 'session.logout'
  | 'session.reuse_detected'
  | 'session.locked'
  | 'oauth.linked'
  | 'account.taken_over'
  | 'email.verified'
  | 'email.change_started'
  | 'email.changed'
  | 'password.changed'
  | 'password.reset'
  | 'user.invited'
  | 'user.created'
  | 'user.role_changed'
  | 'user.renamed'
  | 'user.removed'
  | 'media.deleted'
  | 'token.created'
  | 'token.revoked';

/** Runs in the caller's transaction: an entry exists exactly when its change does. */
export async function recordAudit(sql: Sql, entry: AuditEntry): Promise<void> {
  await sql.query(
    `INSERT INTO audit_log (company_id, user_id, token_id, action, instance_id, detail, trace_id, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      entry.companyId,
      entry.userId,
      entry.tokenId ?? null,
      entry.action,
      entry.instanceId ?? null,
      JSON.stringify(entry.detail ?? {}),
      entry.traceId,
      entry.at,
    ],
  );
}
