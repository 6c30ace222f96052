import type { Sql } from '../../platform/database/db.ts';
import { hashSecret, newSecret } from '../secret-digest.ts';

/** Days an invite link works. */
export const INVITE_LINK_DAYS = 7;

/** Open links of one user; repeated requests must not flood a mailbox. */
const OPEN_LINKS_MAX = 5;

/**
 * A link that lets its bearer choose the user's password, once; only its hash is stored (ACC-16). Null
 * when five are open already.
 */
export async function writePasswordLink(
  sql: Sql,
  input: {
    userId: number;
    companyId: number;
    purpose: 'reset' | 'invite';
    frontendUrl: string;
    now: Date;
    ttlMs: number;
  },
): Promise<string | null> {
  const token = newSecret();
  const { rowCount } = await sql.query(
    `INSERT INTO password_links (token_hash, user_id, company_id, purpose, created_at, expires_at)
     SELECT $1, $2, $3, $4, $5, $6
     WHERE (SELECT count(*) FROM password_links WHERE user_id = $2 AND expires_at > $5) < ${OPEN_LINKS_MAX}`,
    [
      hashSecret(token),
      input.userId,
      input.companyId,
      input.purpose,
      input.now,
      new Date(input.now.getTime() + input.ttlMs),
    ],
  );
  if (rowCount === 0) return null;
  const page = input.purpose === 'invite' ? 'invite' : 'reset-password';
  return `${input.frontendUrl}/${page}?token=${token}`;
}
