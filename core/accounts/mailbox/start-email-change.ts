import { apiError } from '@posthorn/contract/api-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { mails } from '../../mail/mails.ts';
import { holdProvenUser } from '../account-user.ts';
import { checkCurrentPassword } from '../check-current-password.ts';
import type { AccountDeps } from '../deps.ts';
import { mailboxFull } from '../mailbox-full.ts';
import { isKnownEmail } from '../unique-error.ts';
import { writeEmailCode } from './email-code.ts';

/**
 * Begins the change to another e-mail: a code to the new address, a notice to the old one; a second start
 * overwrites the first. Throws 401 INVALID_CURRENT_PASSWORD, 400 BAD_REQUEST for the present address, 409
 * EMAIL_ALREADY_TAKEN, 429 RATE_LIMITED when the new mailbox got too many codes or the old one too
 * many notices.
 */
export async function startEmailChange(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'digest' | 'mails'>,
  input: { userId: number; newEmail: string; currentPassword: string; traceId: string | null },
): Promise<void> {
  const { newEmail, traceId } = input;
  const user = await checkCurrentPassword(deps, input);
  if (newEmail === user.email.toLowerCase())
    throw apiError('BAD_REQUEST', { message: 'new_email: is already the address of this account' });
  const companyId = user.company_id;
  await deps.db.transaction(async (sql) => {
    if (!(await holdProvenUser(sql, user))) throw apiError('INVALID_CURRENT_PASSWORD');
    if (await isKnownEmail(sql, { email: newEmail, now: deps.clock.now() }))
      throw apiError('EMAIL_ALREADY_TAKEN');
    const code = await writeEmailCode(deps, sql, {
      userId: user.id,
      companyId,
      purpose: 'change',
      newEmail,
    });
    // The notice is how an owner learns of a theft: without one there is no change.
    const unnoticed = await deps.mails.queue(sql, {
      ...mails.emailChangeNotice({ name: user.name }),
      to: user.email,
      kind: 'email_change_notice',
      companyId,
      traceId,
    });
    if (unnoticed) throw mailboxFull(unnoticed);
    await recordAudit(sql, {
      companyId,
      userId: user.id,
      action: 'email.change_started',
      traceId,
      at: deps.clock.now(),
    });
    // Last: the mailbox stays locked until the commit, and others may be writing to it.
    const refused = await deps.mails.queue(sql, {
      ...mails.emailChangeCode({ name: user.name, code }),
      to: newEmail,
      kind: 'email_change_code',
      companyId,
      traceId,
    });
    if (refused) throw mailboxFull(refused);
  });
}
