import { EMAIL_CODE_COOLDOWN_S, EMAIL_CODE_LIFETIME_S } from '@posthorn/contract/limits.ts';
import type { auth, Session } from '@posthorn/contract/messaging/auth.ts';
import type { BillingClient } from '@posthorn/core/accounts/company/billing-client.ts';
import { deleteAccount } from '@posthorn/core/accounts/company/delete-account.ts';
import type { AccountDeps } from '@posthorn/core/accounts/deps.ts';
import { confirmEmailChange } from '@posthorn/core/accounts/mailbox/confirm-email-change.ts';
import { resendVerification } from '@posthorn/core/accounts/mailbox/resend-verification.ts';
import { startEmailChange } from '@posthorn/core/accounts/mailbox/start-email-change.ts';
import { verifyEmail } from '@posthorn/core/accounts/mailbox/verify-email.ts';
import { changePassword } from '@posthorn/core/accounts/passwords/change-password.ts';
import { resetPassword } from '@posthorn/core/accounts/passwords/reset-password.ts';
import { quickRegister } from '@posthorn/core/accounts/registration/quick-register.ts';
import { registerCompany } from '@posthorn/core/accounts/registration/register-company.ts';
import type { SessionGrant } from '@posthorn/core/accounts/sessions/issue-session.ts';
import { logIn } from '@posthorn/core/accounts/sessions/log-in.ts';
import { logOut } from '@posthorn/core/accounts/sessions/log-out.ts';
import { refreshSession } from '@posthorn/core/accounts/sessions/refresh-session.ts';
import { updateProfile } from '@posthorn/core/accounts/users/update-profile.ts';
import { addressGroup } from '@posthorn/core/platform/http/client-address.ts';
import { type CookieSettings, clearedCookies, sessionCookies } from '../http/cookies.ts';
import { REFRESH_COOKIE } from '../http/csrf.ts';
import type { Handlers } from '../http/handler.ts';

export interface AuthRoutesDeps extends AccountDeps {
  cookies: CookieSettings;
  /** Null: not configured; account deletion then answers 502. */
  billing: BillingClient | null;
}

/** Accounts and sessions (ACC-1 to ACC-25). */
// long: a table of the handlers of one resource
export function authRoutes(deps: AuthRoutesDeps): Handlers<typeof auth> {
  return {
    async register({ body, ip, traceId }) {
      const address = addressGroup(ip);
      return { status: 201, body: await registerCompany(deps, { ...body, address, traceId }) };
    },
    async quickRegister({ body, ip, traceId }) {
      const address = addressGroup(ip);
      return { status: 201, body: await quickRegister(deps, { email: body.email, address, traceId }) };
    },
    async login({ body, ip, traceId }) {
      return withSession(deps, await logIn(deps, { ...body, address: addressGroup(ip), traceId }));
    },
    async refresh({ cookies, traceId }) {
      return withSession(
        deps,
        await refreshSession(deps, { refreshToken: cookies[REFRESH_COOKIE], traceId }),
      );
    },
    async logout({ principal, cookies, traceId }) {
      await logOut(deps, { principal, refreshToken: cookies[REFRESH_COOKIE], traceId });
      return { status: 204, headers: { 'set-cookie': clearedCookies(deps.cookies) } };
    },
    async forgotPassword({ body, traceId }) {
      // The same single insert for known and unknown addresses: answering always 202 would help little if the
      // timing differed. The worker looks for the user and sends the link (prepare-password-reset.ts).
      await deps.mails.queueResetRequest(deps.db, { email: body.email, traceId });
      return { status: 202, body: { message: 'if the account exists, a reset link was sent to it' } };
    },
    async resetPassword({ body, ip, traceId }) {
      await resetPassword(deps, { ...body, address: addressGroup(ip), traceId });
      return { status: 200, body: { message: 'the password was changed; log in with it' } };
    },
    async verifyEmail({ principal, body, traceId }) {
      return withSession(
        deps,
        await verifyEmail(deps, { userId: principal.userId, code: body.code, traceId }),
      );
    },
    async resendVerification({ principal, traceId }) {
      await resendVerification(deps, { userId: principal.userId, traceId });
      return {
        status: 202,
        body: {
          message: 'a new verification code was sent',
          cooldown_secs: EMAIL_CODE_COOLDOWN_S,
          expires_in: EMAIL_CODE_LIFETIME_S,
        },
      };
    },
    async updateMe({ principal, body, traceId }) {
      const { name, company_name: companyName } = body;
      return { status: 200, body: await updateProfile(deps, { principal, name, companyName, traceId }) };
    },
    async changePassword({ principal, body, traceId }) {
      await changePassword(deps, {
        userId: principal.userId,
        jti: principal.jti,
        currentPassword: body.current_password,
        newPassword: body.new_password,
        traceId,
      });
      return { status: 200, body: { message: 'the password was changed', requires_relogin: true } };
    },
    async startEmailChange({ principal, body, traceId }) {
      await startEmailChange(deps, {
        userId: principal.userId,
        newEmail: body.new_email,
        currentPassword: body.current_password,
        traceId,
      });
      return {
        status: 202,
        body: { message: 'a code was sent to the new address', expires_in: EMAIL_CODE_LIFETIME_S },
      };
    },
    async confirmEmailChange({ principal, body, traceId }) {
      const { companyId, userId } = principal;
      await confirmEmailChange(deps, { companyId, userId, code: body.code, traceId });
      return { status: 200, body: { message: 'the e-mail was changed', requires_relogin: true } };
    },
    async deleteAccount({ principal, body, traceId }) {
      const deleted = await deleteAccount(deps, {
        principal,
        currentPassword: body.current_password,
        traceId,
      });
      return { status: 200, body: deleted, headers: { 'set-cookie': clearedCookies(deps.cookies) } };
    },
  };
}

/** A session as an answer: the payload, and the cookies for browsers. Caches must never keep it. */
export function withSession(
  deps: { cookies: CookieSettings },
  grant: SessionGrant,
): { status: 200; body: Session; headers: Record<string, string | string[]> } {
  return {
    status: 200,
    body: grant.session,
    headers: { 'set-cookie': sessionCookies(deps.cookies, grant), 'cache-control': 'no-store' },
  };
}
