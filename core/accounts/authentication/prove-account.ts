import { type ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { DEFAULT_REQUESTS_PER_MINUTE } from '@posthorn/contract/limits.ts';
import type { Principal, Role } from '../../access/principal.ts';
import { familyOf, SESSION_IS_VALID } from '../../access/session-valid.ts';
import { isSuperadmin, PLATFORM_COMPANY_ID } from '../../access/superadmin.ts';
import type { Db } from '../../platform/database/db.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Log } from '../../platform/process/log.ts';
import { hashSecret } from '../secret-digest.ts';
import { REFRESH_OVERLAP_MS } from '../sessions/refresh-session.ts';
import { hashApiKey, isApiKey } from '../tokens/api-key.ts';
import type { Jwt } from './jwt.ts';

export interface ProofDeps {
  db: Db;
  clock: Clock;
  log: Log;
  jwt: Jwt;
  superadminEmails: readonly string[];
  /** The limit of a company without a plan (LIM-1). */
  requestsPerMinute?: number;
  /** False in a service that may only read these tables: the use of keys is not noted then. */
  notesKeyUse?: boolean;
}

/** Seconds after which the use of a key is written again. */
const USE_NOTED_EVERY_S = 60;

/** The account, and when the credential expires (Unix ms). */
export interface Proven {
  principal: Principal;
  endsAtMs: number;
}

interface AccountRow {
  user_id: number | null;
  company_id: number;
  email: string;
  role: Role;
  is_superadmin: boolean;
  email_verified: boolean;
  status: 'active' | 'suspended' | 'deleted' | null;
  requests_per_minute: number | null;
  pwd_changed_at_ms: number;
}

const ACCOUNT_COLUMNS = `u.id AS user_id, u.email, u.role, u.is_superadmin,
  u.email_verified_at IS NOT NULL AS email_verified, c.status, c.requests_per_minute,
  floor(extract(epoch FROM u.password_changed_at) * 1000)::bigint AS pwd_changed_at_ms`;

type KeyRow = AccountRow & { token_id: number; stale: boolean };

/** By API key. Throws 401 TOKEN_INVALID; 403, 503 as ACC-41 says. */
export async function proveKey(deps: ProofDeps, key: string): Promise<Proven> {
  if (!isApiKey(key)) throw apiError('TOKEN_INVALID');
  const { rows } = await look<KeyRow>(
    deps,
    'auth-key',
    `SELECT ${ACCOUNT_COLUMNS}, t.id AS token_id, t.company_id,
            coalesce(t.last_used_at < $2::timestamptz - interval '${USE_NOTED_EVERY_S} seconds', true) AS stale
     FROM api_tokens t
     LEFT JOIN users u ON u.id = t.user_id AND u.company_id = t.company_id
     LEFT JOIN companies c ON c.id = t.company_id
     WHERE t.key_hash = $1 AND t.revoked_at IS NULL`,
    [hashApiKey(key), deps.clock.now()],
  );
  const row = rows[0];
  if (!row || row.user_id === null) throw apiError('TOKEN_INVALID');
  const superadmin = isSuperadminRow(deps, row);
  // Company 1 is reserved: its keys serve superadmins alone (ACC-39).
  if (row.company_id === PLATFORM_COMPANY_ID && !superadmin) throw apiError('TOKEN_INVALID');
  checkCompany(row);
  if (row.stale && deps.notesKeyUse !== false) noteUse(deps, row.token_id);
  return {
    principal: {
      ...principalOf(deps, row, superadmin),
      via: 'key',
      tokenId: row.token_id,
      jti: null,
      endsAtMs: null,
    },
    endsAtMs: Number.POSITIVE_INFINITY,
  };
}

type JwtRow = AccountRow & {
  password_changed_jti: string | null;
  holds: boolean;
};

/**
 * By JWT. Throws 401 TOKEN_INVALID, TOKEN_EXPIRED, PASSWORD_CHANGED; 403, 503 as ACC-41 says. `evenDeleted` lets
 * the users of a deleted company pass, so that they can repeat the deletion.
 */
export async function proveJwt(
  deps: ProofDeps,
  token: string,
  options: { evenDeleted?: boolean } = {},
): Promise<Proven> {
  const claims = await deps.jwt.verify(token);
  const { rows } = await look<JwtRow>(
    deps,
    'auth-jwt',
    `SELECT ${ACCOUNT_COLUMNS}, claim.company_id, u.password_changed_jti,
            ${SESSION_IS_VALID} AS holds
     FROM (SELECT $1::int AS user_id, $2::int AS company_id, $3::text AS jti, $4::uuid AS family) claim
     LEFT JOIN users u ON u.id = claim.user_id AND u.company_id = claim.company_id
     LEFT JOIN companies c ON c.id = claim.company_id`,
    [claims.userId, claims.companyId, claims.jti, familyOf(claims.jti)],
  );
  const row = oneRow(rows);
  if (row.status === null) throw companyNotFound();
  if (row.user_id === null) throw apiError('TOKEN_INVALID');
  if (claims.pwdChangedAtMs < row.pwd_changed_at_ms && row.password_changed_jti !== claims.jti)
    throw apiError('PASSWORD_CHANGED');
  const endsAtMs = claims.exp * 1000;
  // Token and user are both read now: a changed role applies without a new token.
  const superadmin = claims.isSuperadmin && isSuperadminRow(deps, row);
  // Superadmin JWTs are exempt from the company's state (ACC-40).
  const mayBeDeleted = options.evenDeleted && row.status === 'deleted';
  if (!superadmin && !mayBeDeleted) checkCompany(row);
  // The deletion of the company has ended the session, too.
  if (!row.holds && !mayBeDeleted) throw apiError('TOKEN_INVALID');
  return {
    principal: {
      ...principalOf(deps, row, superadmin),
      via: 'jwt',
      tokenId: null,
      jti: claims.jti,
      endsAtMs,
    },
    endsAtMs,
  };
}

/** By refresh cookie, which is not rotated: for the one route that takes it in place of a JWT (ACC-25). */
export async function proveRefreshCookie(deps: ProofDeps, refreshToken: string): Promise<Principal> {
  const { rows } = await look<AccountRow & { family_id: string }>(
    deps,
    'auth-refresh-cookie',
    `SELECT ${ACCOUNT_COLUMNS}, t.company_id, t.family_id
     FROM refresh_tokens t
     JOIN refresh_families f ON f.id = t.family_id AND f.revoked_at IS NULL
     JOIN users u ON u.id = f.user_id
     JOIN companies c ON c.id = u.company_id
     WHERE t.token_hash = $1 AND t.expires_at > $2 AND (t.rotated_at IS NULL OR t.rotated_at >= $3)`,
    [hashSecret(refreshToken), deps.clock.now(), new Date(deps.clock.now().getTime() - REFRESH_OVERLAP_MS)],
  );
  const row = rows[0];
  if (!row) throw apiError('UNAUTHORIZED');
  const superadmin = isSuperadminRow(deps, row);
  if (!superadmin) checkCompany(row);
  // The id of no JWT, but of its session: `lockPrincipal` sees when that has ended.
  const jti = `${row.family_id}.cookie`;
  return { ...principalOf(deps, row, superadmin), via: 'jwt', tokenId: null, jti, endsAtMs: null };
}

function isSuperadminRow(deps: ProofDeps, row: AccountRow): boolean {
  return isSuperadmin(
    { companyId: row.company_id, role: row.role, flag: row.is_superadmin, email: row.email },
    deps.superadminEmails,
  );
}

function principalOf(
  deps: ProofDeps,
  row: AccountRow,
  superadmin: boolean,
): Omit<Principal, 'via' | 'tokenId' | 'jti' | 'endsAtMs'> {
  return {
    companyId: row.company_id,
    userId: row.user_id!,
    // A user who is off the allowlist keeps no rights of the role.
    role: row.role === 'superadmin' && !superadmin ? 'agent' : row.role,
    isSuperadmin: superadmin,
    emailVerified: row.email_verified,
    passwordChangedAtMs: row.pwd_changed_at_ms,
    requestsPerMinute: row.requests_per_minute ?? deps.requestsPerMinute ?? DEFAULT_REQUESTS_PER_MINUTE,
  };
}

function companyNotFound(): ApiError {
  return apiError('FORBIDDEN', { message: 'company not found' });
}

/** A deleted company's requests are blocked like a suspended one's: neither is active (ACC-41). */
function checkCompany(row: AccountRow): void {
  if (row.status === null) throw companyNotFound();
  if (row.status !== 'active') throw apiError('COMPANY_SUSPENDED');
}

/** Any failure of a look-up means that nothing is known about the credentials: 503 (ACC-41). */
async function look<Row extends object>(deps: ProofDeps, name: string, text: string, values: unknown[]) {
  try {
    return await deps.db.query<Row>({ name, text, values });
  } catch (cause) {
    throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '1' } });
  }
}

/** Best effort and not awaited: it only tells people which keys are unused. */
function noteUse(deps: ProofDeps, tokenId: number): void {
  deps.db
    .query('UPDATE api_tokens SET last_used_at = $2 WHERE id = $1', [tokenId, deps.clock.now()])
    .catch((err) => deps.log.warn({ err, token_id: tokenId }, 'recording the use of a key failed'));
}
