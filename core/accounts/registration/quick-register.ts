import { randomBytes } from 'node:crypto';
import type { QuickRegistered } from '@posthorn/contract/messaging/auth.ts';
import { mails } from '../../mail/mails.ts';
import { beforeFirst } from '../../platform/before-first.ts';
import type { AccountDeps } from '../deps.ts';
import { isApiErrorOf } from '../is-api-error.ts';
import { refuseKnownEmail } from '../unique-error.ts';
import { createCompany } from './create-company.ts';
import { giveAccess } from './give-access.ts';

/**
 * Registers a company with nothing but an e-mail: the generated password of 16 hex characters is also mailed, and
 * the e-mail counts as verified. Whether the mailbox is the registrant's is proven later by a code in that mail
 * (verify-email.ts); until then its true owner can take the account over (take-over.ts). The company is named after
 * the mailbox; a taken name gets a random suffix. Throws 409 EMAIL_ALREADY_REGISTERED.
 */
export async function quickRegister(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'mails' | 'digest' | 'settings'>,
  input: { email: string; address: string; traceId: string | null },
): Promise<QuickRegistered> {
  await refuseKnownEmail(deps, input.email);
  const password = randomBytes(8).toString('hex');
  const passwordHash = await deps.passwords.hashPassword(password, { key: input.address, isTrusted: false });
  const mailbox = beforeFirst(input.email, '@');
  const name = mailbox.replace(/[^\p{L}\p{N}]+/gu, ' ').trim() || 'Company';
  try {
    return await register(name);
  } catch (cause) {
    if (!isApiErrorOf(cause, 'CONFLICT')) throw cause;
    return await register(`${name} ${randomBytes(4).toString('hex')}`);
  }

  function register(companyName: string): Promise<QuickRegistered> {
    return deps.db.transaction(async (sql) => {
      const user = await createCompany(deps, sql, {
        companyName,
        ownerEmail: input.email,
        ownerName: name,
        passwordHash,
        emailVerified: true,
        emailProven: false,
        traceId: input.traceId,
      });
      const { token, code } = await giveAccess(deps, sql, { user, traceId: input.traceId });
      await deps.mails.queue(sql, {
        ...mails.quickRegistration({
          email: user.email,
          password,
          code,
          loginUrl: `${deps.settings.frontendUrl}/login`,
        }),
        to: user.email,
        kind: 'quick_registration',
        companyId: user.company_id,
        traceId: input.traceId,
      });
      return {
        company_id: user.company_id,
        api_key: token.key,
        email: user.email,
        password,
        base_url: deps.settings.publicUrl,
        message: 'registered; the password was also sent by e-mail',
      };
    });
  }
}
