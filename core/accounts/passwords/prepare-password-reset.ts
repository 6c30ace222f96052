import type { MailContent } from '../../mail/mail-content.ts';
import { mails } from '../../mail/mails.ts';
import type { Sql } from '../../platform/database/db.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { ACCOUNT_USER_COLUMNS, type AccountUser } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { endsSomething } from '../mailbox/take-over.ts';
import { writePasswordLink } from './password-link.ts';

/**
 * Turns a reset request into a mail with a new link, or into nothing when no user has that address (or has five
 * links open, or the company is deleted). Run by the worker, in the transaction that claimed the request.
 */
export async function preparePasswordReset(
  deps: { settings: Pick<AccountDeps['settings'], 'frontendUrl' | 'passwordResetTtlMinutes'> },
  sql: Sql,
  input: { email: string; now: Date },
): Promise<{ mail: MailContent; to: string; companyId: number } | null> {
  // Locked, so that no e-mail change commits in between: the link would open that account.
  const { rows } = await sql.query<AccountUser>(
    `SELECT ${ACCOUNT_USER_COLUMNS} FROM users u JOIN companies c ON c.id = u.company_id
     WHERE lower(u.email) = $1
     FOR SHARE OF u`,
    [input.email],
  );
  const user = rows[0];
  if (!user || user.company_status === 'deleted') return null;
  const minutes = deps.settings.passwordResetTtlMinutes;
  const link = await writePasswordLink(sql, {
    userId: user.id,
    companyId: user.company_id,
    purpose: 'reset',
    frontendUrl: deps.settings.frontendUrl,
    now: input.now,
    ttlMs: minutes * MINUTE_MS,
  });
  if (!link) return null;
  return {
    mail: mails.passwordReset({ name: user.name, link, minutes, provesOwner: endsSomething(user) }),
    to: user.email,
    companyId: user.company_id,
  };
}
