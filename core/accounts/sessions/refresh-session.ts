import { apiError } from '@posthorn/contract/api-error.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Sql } from '../../platform/database/db.ts';
import { ACCOUNT_USER_COLUMNS, type AccountUser, isUsersSuperadmin } from '../account-user.ts';
import type { AccountDeps } from '../deps.ts';
import { hashSecret } from '../secret-digest.ts';
import { endSession } from './end-sessions.ts';
import { refreshExpiry, type SessionGrant, sessionFor } from './issue-session.ts';

type RefreshDeps = Pick<AccountDeps, 'db' | 'clock' | 'jwt' | 'digest' | 'settings' | 'forget'>;

/**
 * How long after its rotation a token may be presented again without counting as stolen: two tabs that wake at
 * once, or a client that never saw the answer.
 */
export const REFRESH_OVERLAP_MS = 10_000;

type TokenRow = AccountUser & {
  family_id: string;
  revoked: boolean;
  /** When the family began. */
  logged_in_at: Date;
  expires_at: Date;
  rotated_at: Date | null;
};

/**
 * Rotates a refresh token (ACC-13, ACC-14). Throws 401 REFRESH_FAILED, 403 COMPANY_SUSPENDED.
 *
 * The successor is derived from its predecessor with a secret key, not drawn at random. So all who present the same
 * token within the overlap get the same successor: there is one lineage, and the loser of a race stays logged in. A
 * token presented after the overlap means that two parties hold the session: it ends for both.
 */
export async function refreshSession(
  deps: RefreshDeps,
  input: { refreshToken: string | undefined; traceId: string | null },
): Promise<SessionGrant> {
  const { refreshToken } = input;
  if (!refreshToken) throw apiError('REFRESH_FAILED');
  const secrets = deps.digest.digests('refresh-next', refreshToken).map((one) => one.toString('base64url'));
  let stolenFrom: number | null = null;
  const row = await deps.db.transaction(async (sql) => {
    const found = await findToken(sql, refreshToken);
    const now = deps.clock.now();
    if (!found || found.revoked || found.expires_at <= now) return null;
    const refreshExpiresAt = refreshExpiry(deps, found.logged_in_at);
    if (refreshExpiresAt <= now) return null;
    // Checked before anything rotates: a company that is reactivated finds its sessions as they were.
    if (found.company_status !== 'active' && !isUsersSuperadmin(found, deps.settings.superadminEmails))
      throw apiError('COMPANY_SUSPENDED');
    const successors = secrets.map((secret) => `${found.family_id}.${secret}`);
    if (found.rotated_at === null) {
      const next = successors[0]!;
      await rotate(sql, found, { token: refreshToken, next, now, expiresAt: refreshExpiresAt });
      return { ...found, next, refreshExpiresAt };
    }
    if (now.getTime() - found.rotated_at.getTime() <= REFRESH_OVERLAP_MS) {
      const next = await writtenOf(sql, successors);
      return next && { ...found, next, refreshExpiresAt };
    }
    await endSession(sql, { userId: found.id, familyId: found.family_id, at: now });
    await recordAudit(sql, {
      companyId: found.company_id,
      userId: found.id,
      action: 'session.reuse_detected',
      traceId: input.traceId,
      at: now,
    });
    stolenFrom = found.id;
    return null;
  });
  if (stolenFrom !== null) deps.forget(`user:${stolenFrom}`);
  if (!row) throw apiError('REFRESH_FAILED');
  const { refreshExpiresAt } = row;
  const session = await sessionFor(deps, row, { familyId: row.family_id, endsAt: refreshExpiresAt });
  return { session, refreshToken: row.next, issuedAt: deps.clock.now(), refreshExpiresAt };
}

/** Locks token and family, so that concurrent requests take turns and each sees the result of the last one. */
async function findToken(sql: Sql, refreshToken: string): Promise<TokenRow | null> {
  const { rows } = await sql.query<TokenRow>(
    `SELECT ${ACCOUNT_USER_COLUMNS}, f.id AS family_id, f.revoked_at IS NOT NULL AS revoked,
            f.created_at AS logged_in_at, t.expires_at, t.rotated_at
     FROM refresh_tokens t
     JOIN refresh_families f ON f.id = t.family_id
     JOIN users u ON u.id = f.user_id
     JOIN companies c ON c.id = u.company_id
     WHERE t.token_hash = $1
     FOR UPDATE OF t, f`,
    [hashSecret(refreshToken)],
  );
  return rows[0] ?? null;
}

/** The successor that is there: a process with another JWT_SECRET may have derived it. */
async function writtenOf(sql: Sql, successors: readonly string[]): Promise<string | null> {
  const hashes = successors.map(hashSecret);
  const { rows } = await sql.query<{ token_hash: Buffer }>(
    'SELECT token_hash FROM refresh_tokens WHERE token_hash = ANY ($1::bytea[])',
    [hashes],
  );
  return successors.find((_, nth) => rows.some(({ token_hash }) => token_hash.equals(hashes[nth]!))) ?? null;
}

async function rotate(
  sql: Sql,
  row: TokenRow,
  input: { token: string; next: string; now: Date; expiresAt: Date },
): Promise<void> {
  await sql.query(
    `WITH spent AS (UPDATE refresh_tokens SET rotated_at = $4 WHERE token_hash = $1)
     INSERT INTO refresh_tokens (token_hash, family_id, company_id, created_at, expires_at)
     VALUES ($2, $3, $5, $4, $6)`,
    [
      hashSecret(input.token),
      hashSecret(input.next),
      row.family_id,
      input.now,
      row.company_id,
      input.expiresAt,
    ],
  );
}
