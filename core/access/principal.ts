import type { Role } from '@posthorn/contract/fields.ts';

export type { Role };

/** The authenticated caller, as every route needs it. Made by the authenticator and cached for seconds. */
export interface Principal {
  companyId: number;
  userId: number;
  role: Role;
  isSuperadmin: boolean;
  /**
   * How the caller authenticated. A key of company 1 that resolves to an allowlisted superadmin has isSuperadmin.
   */
  via: 'key' | 'jwt';
  /** The API key's row; null with a JWT. */
  tokenId: number | null;
  /** The JWT's id, for revocation; null with a key. */
  jti: string | null;
  /**
   * When the credential expires, in Unix ms: a JWT's `exp`. Null for a key, which is valid until it is revoked.
   */
  endsAtMs: number | null;
  emailVerified: boolean;
  /** The user's last password change as of the authentication, in Unix ms: see lock-principal.ts. */
  passwordChangedAtMs?: number;
  /** Requests per minute the company may make (its plan's, or the free limit). */
  requestsPerMinute: number;
}

/** The credentials of a request. */
export interface Credentials {
  authorization: string | undefined;
  apiKey: string | undefined;
}

/**
 * Authenticates a caller. Throws ApiError: 401 UNAUTHORIZED (no credentials), TOKEN_INVALID, TOKEN_EXPIRED,
 * PASSWORD_CHANGED; 403 COMPANY_SUSPENDED, FORBIDDEN (company not found); 503 SERVICE_UNAVAILABLE when the look-up
 * fails (ACC-41).
 *
 * `authenticateCached` answers synchronously from what was authenticated within the last seconds, or null. The
 * cache is cleared by notifications on the bus and is not used while the bus is down.
 */
export interface Authenticator {
  authenticateCached(credentials: Credentials): Principal | null;
  /**
   * True for credentials that this process has seen succeed and not fail since: worth a look-up even for an address
   * that tries the keys of others.
   */
  isKnown(credentials: Credentials): boolean;
  authenticate(credentials: Credentials): Promise<Principal>;
}
