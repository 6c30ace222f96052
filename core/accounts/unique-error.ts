import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/database/db.ts';

/** Reports early what the unique index would refuse, before a password is hashed in vain. */
export async function refuseKnownEmail(sql: Sql, email: string): Promise<void> {
  const { rows } = await sql.query('SELECT 1 FROM users WHERE lower(email) = $1', [email]);
  if (rows.length > 0) throw apiError('EMAIL_ALREADY_REGISTERED');
}

/** The 409 behind a violated unique index of companies or users; null for any other error. */
export function uniqueError(cause: unknown): ApiError | null {
  const { code, constraint } = cause as { code?: string; constraint?: string };
  if (code !== '23505') return null;
  if (constraint === 'users_email') return apiError('EMAIL_ALREADY_REGISTERED', { cause });
  if (constraint === 'companies_name' || constraint === 'companies_slug_key')
    return apiError('CONFLICT', { cause, message: 'a company of this name exists' });
  return null;
}
