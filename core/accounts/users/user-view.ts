import type { UserDto } from '@posthorn/contract/messaging/users.ts';
import type { QueryResultRow } from 'pg';
import type { Role } from '../../access/principal.ts';
import { IS_INVITED } from '../account-user.ts';

/** The columns of {@link UserRow}, from `users`. */
export const USER_COLUMNS = `id, email, name, role, created_at, email_verified_at IS NOT NULL AS email_verified,
  ${IS_INVITED} AS invited`;

export interface UserRow extends QueryResultRow {
  id: number;
  email: string;
  name: string;
  role: Role;
  created_at: Date;
  email_verified: boolean;
  invited: boolean;
}

export function userView(row: UserRow): UserDto {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    status: row.invited ? 'invited' : 'active',
    email_verified: row.email_verified,
    created_at: row.created_at.toISOString(),
  };
}
