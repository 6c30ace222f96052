import { apiError } from '@posthorn/contract/api-error.ts';
import type { Role } from '../../access/principal.ts';
import type { Sql } from '../../platform/database/db.ts';
import { IS_INVITED } from '../account-user.ts';

/**
 * Locks the company's users and refuses what would leave it without an owner: 409 CONFLICT. One who was invited and has not
 * come yet is none, since nobody may ever come. Also refuses to touch a superadmin's role, but removes one who is off the
 * allowlist. Throws 404 NOT_FOUND for an unknown or foreign user.
 */
export async function keepAnOwner(
  sql: Sql,
  input: {
    companyId: number;
    userId: number;
    /** Null: the user is removed. */
    newRole: Role | null | undefined;
    superadminEmails: readonly string[];
  },
): Promise<{ role: Role; name: string }> {
  const { rows } = await sql.query<{
    id: number;
    email: string;
    role: Role;
    name: string;
    invited: boolean;
  }>(
    `SELECT id, email, role, name, ${IS_INVITED} AS invited FROM users WHERE company_id = $1 ORDER BY id FOR UPDATE`,
    [input.companyId],
  );
  const user = rows.find((row) => row.id === input.userId);
  if (!user) throw apiError('NOT_FOUND');
  if (input.newRole === undefined || input.newRole === user.role) return user;
  const isListed = input.superadminEmails.includes(user.email.toLowerCase());
  if (user.role === 'superadmin' && (isListed || input.newRole !== null))
    throw apiError('CONFLICT', { message: 'only SUPERADMIN_EMAILS decides which users are superadmins' });
  const others = rows.filter((row) => row.role === 'owner' && !row.invited && row.id !== user.id);
  if (user.role === 'owner' && others.length === 0)
    throw apiError('CONFLICT', { message: 'the company needs an owner' });
  return user;
}
