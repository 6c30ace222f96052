import type { Sql } from '../../platform/database/db.ts';

/**
 * Takes an e-mail from the user of a deleted company who has not proven the mailbox. A deleted company keeps its users
 * for as long as its data, but such an address may have been registered and deleted to keep its owner out. Runs in the
 * transaction that gives the address to somebody else.
 */
export async function releaseAddress(sql: Sql, email: string): Promise<void> {
  await sql.query(
    `UPDATE users u SET email = 'user-' || u.id || '@deleted.invalid'
     FROM companies c WHERE lower(u.email) = $1 AND c.id = u.company_id AND ${IS_RELEASED}`,
    [email],
  );
}

/** A condition of SQL: the address of the user `u` of the company `c` is anybody's. */
export const IS_RELEASED = `u.email_proven_at IS NULL AND c.status = 'deleted'`;
