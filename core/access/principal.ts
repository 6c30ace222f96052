import type { Role } from '@posthorn/contract/fields.ts';

export type { Role };

/** Who is asking, as far as every route needs to know. Made by the authenticator, cached for seconds. */
export interface Principal {
  companyId: number;
  userId: number;
  role: Role;
  isSuperadmin: boolean;
  /** How they proved it. A key of company 1 that resolves to an allowlisted superadmin has isSuperadmin. */
  via: 'key' | 'jwt';
  /** The API key's row; null with a JWT. */
  tokenId: number | null;
  /** The JWT's id, for revocation; null with a key. */
  jti: string | null;
  /** When the proof itself ends, Unix ms: a JWT's. Null with a key, which lasts until it is revoked. */
  endsAtMs: number | null;
  emailVerified: boolean;
  /** The last change of the user's password when this was proven, in Unix ms: see hold-principal.ts. */
  passwordChangedAtMs?: number;
  /** Requests per minute the company may make (its plan's, or the free limit). */
  requestsPerMinute: number;
}

/** What a request carries to prove who is asking. */
export interface Credentials {
  authorization: string | undefined;
  apiKey: string | undefined;
}

/**
 * Tells who is asking. Throws ApiError: 401 UNAUTHORIZED (nothing given), TOKEN_INVALID,
 * TOKEN_EXPIRED, PASSWORD_CHANGED; 403 COMPANY_SUSPENDED, FORBIDDEN (company not found); 503
 * SERVICE_UNAVAILABLE when it can't be looked up (ACC-41).
 *
 * `authenticateCached` answers at once from what was proven seconds ago, or null; the cache is emptied
 * by the bus, and not used while the bus is down.
 */
export interface Authenticator {
  authenticateCached(credentials: Credentials): Principal | null;
  /**
   * True for what this process has seen proven before and not seen fail since: worth a look-up even from an
   * address from which others try keys.
   */
  isKnown(credentials: Credentials): boolean;
  authenticate(credentials: Credentials): Promise<Principal>;
}
