import type { Session } from '@posthorn/contract/messaging/auth.ts';
import type { Sql } from '../../platform/database/db.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { newId } from '../../platform/ids.ts';
import { type AccountUser, isUsersSuperadmin, sessionPayload } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { hashSecret, newSecret } from '../secret-digest.ts';

/** The result of a login: the payload of the answer, and the refresh token for the cookie. */
export interface SessionGrant {
  session: Session;
  refreshToken: string;
  issuedAt: Date;
  refreshExpiresAt: Date;
}

type IssueDeps = Pick<AccountDeps, 'clock' | 'jwt' | 'settings'>;

/** Begins a session: a family with its first refresh token, and a JWT. Part of the caller's transaction. */
export async function issueSession(deps: IssueDeps, sql: Sql, user: AccountUser): Promise<SessionGrant> {
  const familyId = newId();
  const refreshToken = `${familyId}.${newSecret()}`;
  const issuedAt = deps.clock.now();
  const refreshExpiresAt = refreshExpiry(deps, issuedAt);
  await sql.query(
    `WITH family AS (
       INSERT INTO refresh_families (id, company_id, user_id, created_at) VALUES ($1, $2, $3, $4)
     )
     INSERT INTO refresh_tokens (token_hash, family_id, company_id, created_at, expires_at)
     VALUES ($5, $1, $2, $4, $6)`,
    [familyId, user.company_id, user.id, issuedAt, hashSecret(refreshToken), refreshExpiresAt],
  );
  const session = await sessionFor(deps, user, { familyId, endsAt: refreshExpiresAt });
  return { session, refreshToken, issuedAt, refreshExpiresAt };
}

/** A new JWT of the family, with the payload around it. */
export async function sessionFor(
  deps: IssueDeps,
  user: AccountUser,
  { familyId, endsAt }: { familyId: string; endsAt: Date },
): Promise<Session> {
  const token = await deps.jwt.sign({
    companyId: user.company_id,
    userId: user.id,
    role: user.role,
    isSuperadmin: isUsersSuperadmin(user, deps.settings.superadminEmails),
    pwdChangedAtMs: user.password_changed_at_ms,
    familyId,
    sessionEndsAt: endsAt,
  });
  return sessionPayload(user, token, deps.settings.superadminEmails);
}

/**
 * When a refresh token issued now expires: after so many days without use, and at the latest so many days after the
 * login, or a stolen session could be kept alive forever.
 */
export function refreshExpiry(deps: Pick<AccountDeps, 'clock' | 'settings'>, loggedInAt: Date): Date {
  const { refreshTtlDays, sessionMaxDays } = deps.settings;
  return new Date(
    Math.min(
      deps.clock.now().getTime() + refreshTtlDays * DAY_MS,
      loggedInAt.getTime() + sessionMaxDays * DAY_MS,
    ),
  );
}
