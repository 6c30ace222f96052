import type { SessionGrant } from '@posthorn/core/accounts/sessions/issue-session.ts';
import { CSRF_COOKIE, type CsrfTokensOf, REFRESH_COOKIE } from './csrf.ts';

/** How cookies are written: Secure except in development (ACC-11). */
export interface CookieSettings {
  secure: boolean;
  csrfTokensOf: CsrfTokensOf;
}

/** Ties a login at a provider, and the sign-up that follows, to the browser that started it. */
export const OAUTH_COOKIE = 'svc_oauth';

/**
 * The `Set-Cookie` values of a session. Scripts cannot read the refresh token; the console's scripts read the
 * CSRF token, which stays the same for the whole session, so that open tabs keep working.
 */
export function sessionCookies(settings: CookieSettings, grant: SessionGrant): string[] {
  const maxAge = Math.max(
    0,
    Math.round((grant.refreshExpiresAt.getTime() - grant.issuedAt.getTime()) / 1000),
  );
  return [
    cookie(settings, REFRESH_COOKIE, grant.refreshToken, { maxAge, httpOnly: true }),
    cookie(settings, CSRF_COOKIE, settings.csrfTokensOf(grant.refreshToken)?.[0] ?? '', { maxAge }),
  ];
}

/** The `Set-Cookie` values that end a session in the browser. */
export function clearedCookies(settings: CookieSettings): string[] {
  return [
    cookie(settings, REFRESH_COOKIE, '', { maxAge: 0, httpOnly: true }),
    cookie(settings, CSRF_COOKIE, '', { maxAge: 0 }),
  ];
}

export function oauthCookie(settings: CookieSettings, secret: string, maxAge: number): string {
  return cookie(settings, OAUTH_COOKIE, secret, { maxAge, httpOnly: true });
}

/**
 * Lax: sent when a provider redirects back, not with posts from other sites. For every path: only the proxy in front knows
 * behind which one browsers see the API.
 */
function cookie(
  settings: CookieSettings,
  name: string,
  value: string,
  options: { maxAge: number; httpOnly?: boolean },
): string {
  return [
    `${name}=${value}`,
    'Path=/',
    `Max-Age=${options.maxAge}`,
    'SameSite=Lax',
    ...(options.httpOnly ? ['HttpOnly'] : []),
    ...(settings.secure ? ['Secure'] : []),
  ].join('; ');
}
