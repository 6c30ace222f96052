import type { RegisterBody, Registered } from '@posthorn/contract/messaging/auth.ts';
import { mails } from '../../mail/mails.ts';
import type { AccountDeps } from '../deps.ts';
import { refuseKnownEmail } from '../unique-error.ts';
import { asRegistration, createCompany } from './create-company.ts';
import { giveAccess } from './give-access.ts';

/**
 * Company, owner, first API key and verification mail in one transaction (ACC-1, ACC-2). Throws 409
 * CONFLICT, EMAIL_ALREADY_REGISTERED; 500 REGISTRATION_FAILED.
 */
export function registerCompany(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'passwords' | 'mails' | 'digest'>,
  input: RegisterBody & { address: string; traceId: string | null },
): Promise<Registered> {
  return asRegistration(async () => {
    await refuseKnownEmail(deps, input.owner_email);
    const passwordHash = await deps.passwords.hashPassword(input.password, {
      key: input.address,
      isTrusted: false,
    });
    return deps.db.transaction(async (sql) => {
      const user = await createCompany(deps, sql, {
        companyName: input.company_name,
        ownerEmail: input.owner_email,
        ownerName: input.owner_name,
        passwordHash,
        emailVerified: false,
        emailProven: false,
        traceId: input.traceId,
      });
      const { token, code } = await giveAccess(deps, sql, { user, traceId: input.traceId });
      await deps.mails.queue(sql, {
        ...mails.verificationCode({ name: user.name, code }),
        to: user.email,
        kind: 'registration_code',
        companyId: user.company_id,
        traceId: input.traceId,
      });
      return {
        company_id: user.company_id,
        token: token.key,
        api_token: token.key,
        token_id: token.id,
        last4: token.last4,
        slug: user.company_slug,
        email_verification_required: true,
        message: 'registered; a verification code was sent by e-mail',
      };
    });
  });
}
