import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/database/db.ts';
import type { AccountDeps } from './deps.ts';
import { IS_RELEASED } from './mailbox/release-address.ts';

/** Reports early what the unique index would refuse, before a password is hashed in vain. */
export async function refuseKnownEmail(
  deps: Pick<AccountDeps, 'db' | 'clock'>,
  email: string,
): Promise<void> {
  if (await isKnownEmail(deps.db, { email, now: deps.clock.now() }))
    throw apiError('EMAIL_ALREADY_REGISTERED');
}

/** Whether somebody has the address who does not have to give it up (release-address.ts). */
export async function isKnownEmail(sql: Sql, { email, now }: { email: string; now: Date }): Promise<boolean> {
  const { rows } = await sql.query(
    `SELECT 1 FROM users u JOIN companies c ON c.id = u.company_id
     WHERE lower(u.email) = $1 AND NOT (${IS_RELEASED})`,
    [email, now],
  );
  return rows.length > 0;
}

/** The 409 behind a violated unique index of companies or users; null for any other error. */
export function uniqueError(cause: unknown): ApiError | null {
  const { code, constraint } = cause as { code?: string; constraint?: string };
  if (code !== '23505') return null;
  if (constraint === 'users_email') return apiError('EMAIL_ALREADY_REGISTERED', { cause });
  if (constraint === 'companies_name' || constraint === 'companies_slug_key')
    return apiError('CONFLICT', { cause, message: 'a company of this name already exists' });
  return null;
}
