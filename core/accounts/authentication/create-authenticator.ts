import { apiError } from '@posthorn/contract/api-error.ts';
import type { AuthSubject } from '../../access/forget-cached.ts';
import type { Authenticator, Credentials, Principal } from '../../access/principal.ts';
import type { Bus } from '../../platform/broker/bus.ts';
import { isApiErrorOf } from '../is-api-error.ts';
import { hashSecret } from '../secret-digest.ts';
import { startsLikeApiKey } from '../tokens/api-key.ts';
import { createPrincipalCache } from './principal-cache.ts';
import { type ProofDeps, proveJwt, proveKey, proveRefreshCookie } from './prove-account.ts';

const KNOWN_MAX = 20_000;

export interface AuthenticatorDeps extends ProofDeps {
  bus: Bus;
  /** How long a successful look-up is cached; revocations clear it at once over the bus. */
  cacheTtlMs?: number;
}

/** The authenticator of a process. */
export interface LocalAuthenticator extends Authenticator {
  /**
   * Drops a key of the cache at once in this process; the others are notified over the bus, milliseconds later.
   */
  forget(...subjects: AuthSubject[]): void;
  /**
   * For `DELETE /v1/auth/me/account` only: accepts a JWT, or the refresh cookie in its place, also from a company
   * that is already deleted. Throws like `authenticate`.
   */
  authenticateAccount(proof: {
    authorization: string | undefined;
    refreshToken: string | undefined;
  }): Promise<Principal>;
}

/** See {@link Authenticator}. See ACC-9, ACC-32, ACC-33, ACC-41 and ACC-42. */
export function createAuthenticator(deps: AuthenticatorDeps): LocalAuthenticator {
  const cache = createPrincipalCache({
    bus: deps.bus,
    clock: deps.clock,
    ttlMs: deps.cacheTtlMs ?? 30_000,
  });
  /** Credentials that succeeded, by digest; a revoked one is removed at its next look-up. */
  const known = new Set<string>();
  /** Look-ups in progress, so that a burst with one key causes one. */
  const running = new Map<string, { mark: number; answer: Promise<Principal> }>();

  async function lookUp(proof: string, isKey: boolean, mark: number): Promise<Principal> {
    const id = hashSecret(proof).toString('base64');
    try {
      const { principal, endsAtMs } = await (isKey ? proveKey(deps, proof) : proveJwt(deps, proof));
      cache.set(proof, principal, mark, endsAtMs);
      // The newest stands last, so that the oldest is evicted first.
      known.delete(id);
      if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value as string);
      known.add(id);
      return principal;
    } catch (err) {
      // While the database is unreachable, nothing is known about the credential.
      if (!isApiErrorOf(err, 'SERVICE_UNAVAILABLE')) known.delete(id);
      throw err;
    }
  }

  return {
    authenticateCached(credentials) {
      const proof = proofOf(credentials);
      // A key is no JWT: what was authenticated as one must not be accepted in the other's header.
      const principal = proof === null ? null : cache.get(proof);
      if (principal === null) return null;
      if ((principal.via === 'key') !== (credentials.apiKey !== undefined)) return null;
      return principal;
    },
    isKnown(credentials) {
      const proof = proofOf(credentials);
      return proof !== null && known.has(hashSecret(proof).toString('base64'));
    },
    async authenticate(credentials) {
      const proof = proofOf(credentials);
      const isKey = credentials.apiKey !== undefined;
      if (!isKey && isKeyElsewhere(credentials.authorization)) throw apiError('TOKEN_INVALID', KEY_ELSEWHERE);
      if (proof === null)
        throw credentials.authorization
          ? apiError('TOKEN_INVALID')
          : apiError('UNAUTHORIZED', NO_CREDENTIALS);
      const mark = cache.mark();
      const id = `${isKey ? 'k' : 'j'} ${proof}`;
      const shared = running.get(id);
      // Only a look-up that began after the last invalidation, and only while we would be notified of one.
      if (shared && shared.mark === mark && cache.usable()) return shared.answer;
      const answer = lookUp(proof, isKey, mark);
      running.set(id, { mark, answer });
      try {
        return await answer;
      } finally {
        if (running.get(id)?.answer === answer) running.delete(id);
      }
    },
    forget(...subjects) {
      for (const subject of subjects) cache.forget(subject);
    },
    async authenticateAccount({ authorization, refreshToken }) {
      if (authorization !== undefined) {
        const token = bearerOf(authorization);
        if (token === null) throw apiError('TOKEN_INVALID');
        return (await proveJwt(deps, token, { evenDeleted: true })).principal;
      }
      if (!refreshToken) throw apiError('UNAUTHORIZED');
      return proveRefreshCookie(deps, refreshToken);
    },
  };
}

/** Whether somebody put an API key where a login belongs, in whatever scheme (ACC-33). */
function isKeyElsewhere(authorization: string | undefined): boolean {
  return authorization !== undefined && startsLikeApiKey(authorization.trim().replace(/^\S+ +/, ''));
}

const NO_CREDENTIALS = {
  message:
    'authentication is required: an API key in the header X-API-Key, or the JWT of a login in Authorization: Bearer',
};
const KEY_ELSEWHERE = { message: 'an API key goes into the header X-API-Key, not into Authorization' };

function proofOf(credentials: Credentials): string | null {
  return credentials.apiKey ?? bearerOf(credentials.authorization);
}

function bearerOf(header: string | undefined): string | null {
  return header !== undefined && /^bearer /i.test(header) ? header.slice(7).trim() : null;
}
