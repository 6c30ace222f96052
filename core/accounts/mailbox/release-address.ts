import { PLATFORM_COMPANY_ID } from '../../access/superadmin.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Sql } from '../../platform/database/db.ts';
import { IS_INVITED } from '../account-user.ts';

/**
 * Frees an e-mail whose user does not have to keep it. A deleted company keeps its users for as long as its data, but an
 * address that nobody has proven may have been registered and deleted to keep its owner out. A user who was invited and
 * has not come goes when the invitation is over: anybody may invite any address. Runs in the transaction that gives the
 * address to somebody else.
 */
export async function releaseAddress(sql: Sql, { email, now }: { email: string; now: Date }): Promise<void> {
  // One that nobody can have registered before.
  await sql.query(
    `UPDATE users u SET email = gen_random_uuid() || '@deleted.invalid'
     FROM companies c WHERE lower(u.email) = $1 AND c.id = u.company_id AND ${IS_OF_DELETED}`,
    [email],
  );
  // A user who is just accepting, or is given another link, is skipped: this waits for nobody who locks users of that company.
  const { rows } = await sql.query<{ id: number; company_id: number; role: string }>(
    `DELETE FROM users WHERE id IN (
       SELECT u.id FROM users u WHERE lower(u.email) = $1 AND ${INVITE_IS_OVER} FOR UPDATE SKIP LOCKED
     )
     RETURNING id, company_id, role`,
    [email, now],
  );
  for (const user of rows)
    await recordAudit(sql, {
      companyId: user.company_id,
      userId: null,
      action: 'user.removed',
      detail: { user_id: user.id, role: user.role, reason: 'invite_expired' },
      traceId: null,
      at: now,
    });
}

const IS_OF_DELETED = `u.email_proven_at IS NULL AND c.status = 'deleted'`;

/** Company 1 invites at start, once. */
const INVITE_IS_OVER = `${IS_INVITED} AND u.company_id <> ${PLATFORM_COMPANY_ID}
  AND NOT EXISTS (SELECT FROM password_links l WHERE l.user_id = u.id AND l.expires_at > $2)`;

/** A condition of SQL: the address of the user `u` of the company `c` is anybody's. $2 is the present time. */
export const IS_RELEASED = `(${IS_OF_DELETED} OR ${INVITE_IS_OVER})`;
