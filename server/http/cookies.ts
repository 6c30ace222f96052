import type { SessionGrant } from '@posthorn/core/accounts/sessions/issue-session.ts';
import { CSRF_COOKIE, type CsrfTokenOf, REFRESH_COOKIE } from './csrf.ts';

/** How cookies are written: Secure everywhere but in development (ACC-11). */
export interface CookieSettings {
  secure: boolean;
  csrfTokenOf: CsrfTokenOf;
}

/** Ties a login at a provider to the browser that began it. */
export const OAUTH_COOKIE = 'svc_oauth';
const OAUTH_COOKIE_PATH = '/v1/auth/oauth';

/**
 * The `Set-Cookie` values of a session. The refresh token is out of reach of scripts; the CSRF token is for
 * the console's scripts to read, and the same for as long as the session lasts: tabs that hold it go on.
 */
export function sessionCookies(settings: CookieSettings, grant: SessionGrant): string[] {
  const maxAge = Math.max(
    0,
    Math.round((grant.refreshExpiresAt.getTime() - grant.issuedAt.getTime()) / 1000),
  );
  return [
    cookie(settings, REFRESH_COOKIE, grant.refreshToken, { maxAge, httpOnly: true }),
    cookie(settings, CSRF_COOKIE, settings.csrfTokenOf(grant.refreshToken) ?? '', { maxAge }),
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
  return cookie(settings, OAUTH_COOKIE, secret, { maxAge, httpOnly: true, path: OAUTH_COOKIE_PATH });
}

/** Lax: sent when a provider redirects back, not with what other sites post. */
function cookie(
  settings: CookieSettings,
  name: string,
  value: string,
  options: { maxAge: number; httpOnly?: boolean; path?: string },
): string {
  return [
    `${name}=${value}`,
    `Path=${options.path ?? '/'}`,
    `Max-Age=${options.maxAge}`,
    'SameSite=Lax',
    ...(options.httpOnly ? ['HttpOnly'] : []),
    ...(settings.secure ? ['Secure'] : []),
  ].join('; ');
}
