import { timingSafeEqual } from 'node:crypto';
import { EMAIL_CODE_ATTEMPTS_MAX, EMAIL_CODE_LIFETIME_S } from '@posthorn/contract/limits.ts';
import type { Sql } from '../../platform/database/db.ts';
import type { AccountDeps } from '../deps.ts';
import { newCode } from '../secret-digest.ts';

export type CodePurpose = 'verify' | 'change';

/**
 * The result of checking a typed code. `spent`: it was wrong and the last allowed attempt; the code is void now.
 */
export type CodeOutcome =
  | { is: 'right'; newEmail: string | null }
  | { is: 'wrong' | 'spent' | 'expired' | 'none' };

type CodeDeps = Pick<AccountDeps, 'clock' | 'digest'>;

/** Puts a fresh code in the place of any earlier one, with five new attempts (ACC-18), and returns it. */
export async function writeEmailCode(
  deps: CodeDeps,
  sql: Sql,
  input: {
    userId: number;
    companyId: number;
    purpose: CodePurpose;
    newEmail?: string;
    /** Starts the cooldown: the user asked for this code. */
    resend?: boolean;
  },
): Promise<string> {
  const code = newCode();
  const now = deps.clock.now();
  await sql.query(
    `INSERT INTO email_codes (user_id, purpose, company_id, new_email, code_hash, attempts, expires_at, resent_at)
     VALUES ($1, $2, $3, $4, $5, 0, $6, $7)
     ON CONFLICT (user_id, purpose) DO UPDATE SET new_email = excluded.new_email, code_hash = excluded.code_hash,
       attempts = 0, expires_at = excluded.expires_at,
       resent_at = coalesce(excluded.resent_at, email_codes.resent_at)`,
    [
      input.userId,
      input.purpose,
      input.companyId,
      input.newEmail ?? null,
      deps.digest.digest('email-code', hashedText(input.userId, input.purpose, code)),
      new Date(now.getTime() + EMAIL_CODE_LIFETIME_S * 1000),
      input.resend ? now : null,
    ],
  );
  return code;
}

/**
 * Checks a typed code and counts a wrong one. The row is locked, so concurrent attempts cannot exceed five. The
 * caller's transaction must commit for a wrong one to count; a correct one is void afterwards.
 */
export async function tryEmailCode(
  deps: CodeDeps,
  sql: Sql,
  input: { userId: number; purpose: CodePurpose; code: string },
): Promise<CodeOutcome> {
  const { rows } = await sql.query<{
    code_hash: Buffer | null;
    attempts: number;
    expires_at: Date;
    new_email: string | null;
  }>(
    `SELECT code_hash, attempts, expires_at, new_email FROM email_codes
     WHERE user_id = $1 AND purpose = $2 FOR UPDATE`,
    [input.userId, input.purpose],
  );
  const row = rows[0];
  if (!row?.code_hash) return { is: 'none' };
  if (row.expires_at <= deps.clock.now()) return { is: 'expired' };
  const right =
    isCode(input.code) &&
    deps.digest
      .digests('email-code', hashedText(input.userId, input.purpose, input.code))
      .some((expected) => timingSafeEqual(row.code_hash!, expected));
  if (right) {
    await clearEmailCode(sql, input);
    return { is: 'right', newEmail: row.new_email };
  }
  const spent = row.attempts + 1 >= EMAIL_CODE_ATTEMPTS_MAX;
  await sql.query(
    `UPDATE email_codes SET attempts = attempts + 1, code_hash = CASE WHEN $3 THEN NULL ELSE code_hash END
     WHERE user_id = $1 AND purpose = $2`,
    [input.userId, input.purpose, spent],
  );
  return { is: spent ? 'spent' : 'wrong' };
}

/** Whether a text has the form of a code. */
function isCode(text: string): boolean {
  return /^\d{6}$/.test(text);
}

/** Voids a code. Its row stays for the cooldown. */
export async function clearEmailCode(sql: Sql, of: { userId: number; purpose: CodePurpose }): Promise<void> {
  await sql.query('UPDATE email_codes SET code_hash = NULL WHERE user_id = $1 AND purpose = $2', [
    of.userId,
    of.purpose,
  ]);
}

function hashedText(userId: number, purpose: CodePurpose, code: string): string {
  return `${purpose} ${userId} ${code}`;
}
