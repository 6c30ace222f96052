import { apiError } from '@posthorn/contract/api-error.ts';
import type { AccountDeps } from '../deps.ts';
import { asRegistration, createCompany } from '../registration/create-company.ts';
import { hashSecret } from '../secret-digest.ts';
import { issueSession, type SessionGrant } from '../sessions/issue-session.ts';
import { browserHashOf, type PendingProfile } from './finish-oauth-login.ts';

/**
 * Company, owner and provider link for a proven identity that was new (ACC-31). A taken name leaves the
 * pending token good for another try. A browser has to be the one that began, or a link would make whoever opens it the
 * owner of a company into which the person who began logs in. Throws 400 OAUTH_PENDING_INVALID; 409 EMAIL_ALREADY_REGISTERED,
 * CONFLICT; 500 REGISTRATION_FAILED.
 */
export function completeOAuthSignup(
  deps: Pick<AccountDeps, 'db' | 'clock' | 'cipher' | 'jwt' | 'settings'>,
  input: {
    token: string;
    companyName: string;
    /** Null: no browser asks, but a program, which is given its token by whoever runs it. */
    browser: { secret: string | undefined } | null;
    traceId: string | null;
  },
): Promise<SessionGrant> {
  return asRegistration(() =>
    deps.db.transaction(async (sql) => {
      const now = deps.clock.now();
      const pending = await sql.query<{ provider: string; subject: string; profile: Buffer }>(
        `DELETE FROM oauth_pending WHERE token_hash = $1 AND expires_at > $2
         RETURNING provider, subject, profile`,
        [hashSecret(input.token), now],
      );
      const row = pending.rows[0];
      if (!row) throw apiError('OAUTH_PENDING_INVALID');
      const { email, name, browserHash } = deps.cipher.open<PendingProfile>(row.profile);
      if (
        input.browser &&
        browserHash !== undefined &&
        browserHash !== browserHashOf(input.browser.secret ?? '')
      )
        throw apiError('OAUTH_PENDING_INVALID');
      const user = await createCompany(deps, sql, {
        companyName: input.companyName,
        ownerEmail: email,
        ownerName: name,
        passwordHash: null,
        emailVerified: true,
        emailProven: true,
        traceId: input.traceId,
      });
      const linked = await sql.query(
        `INSERT INTO oauth_identities (provider, subject, user_id, company_id, created_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
        [row.provider, row.subject, user.id, user.company_id, now],
      );
      // Signed up twice concurrently, under an e-mail that changed in between: the first one wins.
      if (linked.rowCount === 0) throw apiError('OAUTH_PENDING_INVALID');
      return issueSession(deps, sql, user);
    }),
  );
}
