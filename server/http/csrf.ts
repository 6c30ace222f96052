import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { apiError } from '@posthorn/contract/api-error.ts';
import { familyOf } from '@posthorn/core/access/session-valid.ts';
import type { SecretDigest } from '@posthorn/core/accounts/secret-digest.ts';

export const REFRESH_COOKIE = 'svc_refresh_token';
export const CSRF_COOKIE = 'svc_csrf_token';

/**
 * Returns the CSRF tokens of a refresh token's session, the same for all its refresh tokens: the one that is given out, and
 * those of other accepted secrets. Null if it has no session.
 */
export type CsrfTokensOf = (refreshToken: string) => readonly string[] | null;

export function createCsrfTokens(digest: SecretDigest): CsrfTokensOf {
  return (refreshToken) => {
    const family = familyOf(refreshToken);
    return family === null ? null : digest.digests('csrf', family).map((one) => one.toString('base64url'));
  };
}

/**
 * A browser that sends the refresh cookie must prove that our own page made the request: X-CSRF-Token must
 * equal the CSRF cookie, which other sites can't read, and both must be the token of this session, because a
 * neighbour under the same domain can write cookies and would write the token of its own session. Where keys
 * are accepted, a key is proof enough: no browser adds it by itself, and the cookie is then ignored. On other
 * routes a key header proves nothing. Throws 403 CSRF_INVALID.
 */
export function checkCsrf(
  tokensOf: CsrfTokensOf,
  request: {
    headers: IncomingHttpHeaders;
    cookies: Readonly<Record<string, string | undefined>>;
    route: { takesKey: boolean };
  },
): void {
  if (request.route.takesKey && request.headers['x-api-key']) return;
  const refreshToken = request.cookies[REFRESH_COOKIE];
  if (refreshToken === undefined) return;
  const header = request.headers['x-csrf-token'];
  const cookie = request.cookies[CSRF_COOKIE];
  if (typeof header !== 'string' || !cookie || !sameText(header, cookie)) throw apiError('CSRF_INVALID');
  // One without a session is none of ours: the route refuses it for itself, if it looks at it at all.
  const tokens = tokensOf(refreshToken);
  if (tokens?.some((token) => sameText(header, token)) === false) throw apiError('CSRF_INVALID');
}

function sameText(a: string, b: string): boolean {
  const x = Buffer.from(a);
  const y = Buffer.from(b);
  return x.length === y.length && timingSafeEqual(x, y);
}
