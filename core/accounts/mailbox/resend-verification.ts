import { apiError } from '@posthorn/contract/api-error.ts';
import { EMAIL_CODE_COOLDOWN_S } from '@posthorn/contract/limits.ts';
import { mails } from '../../mail/mails.ts';
import { findAccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { mailboxFull } from '../mailbox-full.ts';
import { writeEmailCode } from './email-code.ts';

/**
 * Sends a new verification code, which voids the earlier one (ACC-18, ACC-19). Throws 409 EMAIL_ALREADY_VERIFIED;
 * 429 EMAIL_VERIFICATION_RESEND_COOLDOWN within 60 s of the last resend, and after too many of them. The mail of
 * the registration starts no cooldown: whoever lost it should not have to wait for the first resend.
 */
export async function resendVerification(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'digest' | 'mails'>,
  input: { userId: number; traceId: string | null },
): Promise<void> {
  await deps.db.transaction(async (sql) => {
    const user = await findAccountUser(sql, input.userId, { lock: true });
    if (!user) throw apiError('TOKEN_INVALID');
    if (user.email_verified) throw apiError('EMAIL_ALREADY_VERIFIED');
    const { rows } = await sql.query<{ resent_at: Date | null }>(
      `SELECT resent_at FROM email_codes WHERE user_id = $1 AND purpose = 'verify'`,
      [user.id],
    );
    const last = rows[0]?.resent_at;
    const waitMs = last ? last.getTime() + EMAIL_CODE_COOLDOWN_S * 1000 - deps.clock.now().getTime() : 0;
    if (waitMs > 0)
      throw apiError('EMAIL_VERIFICATION_RESEND_COOLDOWN', {
        headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) },
      });
    const code = await writeEmailCode(deps, sql, {
      userId: user.id,
      companyId: user.company_id,
      purpose: 'verify',
      resend: true,
    });
    const refused = await deps.mails.queue(sql, {
      ...mails.verificationCode({ name: user.name, code }),
      to: user.email,
      kind: 'verification_code',
      companyId: user.company_id,
      traceId: input.traceId,
    });
    if (refused) throw mailboxFull(refused, 'EMAIL_VERIFICATION_RESEND_COOLDOWN');
  });
}
