import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '@posthorn/contract/api-error.ts';
import type { oauth } from '@posthorn/contract/messaging/oauth.ts';
import type { AccountDeps } from '@posthorn/core/accounts/deps.ts';
import { beginOAuthLogin, OAUTH_STATE_TTL_MINUTES } from '@posthorn/core/accounts/oauth/begin-oauth-login.ts';
import { completeOAuthSignup } from '@posthorn/core/accounts/oauth/complete-oauth-signup.ts';
import { finishOAuthLogin, PENDING_TTL_MINUTES } from '@posthorn/core/accounts/oauth/finish-oauth-login.ts';
import { enabledProviders, type OAuthProviders } from '@posthorn/core/accounts/oauth/provider.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import { withoutTrailingSlashes } from '@posthorn/core/platform/http/base-url.ts';
import { toApiError } from '../http/answer-error.ts';
import { type CookieSettings, OAUTH_COOKIE, oauthCookie, sessionCookies } from '../http/cookies.ts';
import type { Handlers } from '../http/handler.ts';
import { withSession } from './auth-routes.ts';

export interface OAuthRoutesDeps extends AccountDeps {
  cookies: CookieSettings;
  providers: OAuthProviders;
  /** The base URL of the pages /login, /oauth/callback and /oauth/complete. */
  oauthFrontendUrl: string;
}

/** Until a sign-up that comes back at the last moment has to be complete. */
const BROWSER_KNOWN_MINUTES = OAUTH_STATE_TTL_MINUTES + PENDING_TTL_MINUTES;

/** Social login and sign-up (ACC-27 to ACC-31). */
export function oauthRoutes(deps: OAuthRoutesDeps): Handlers<typeof oauth> {
  function page(path: string, query: Record<string, string>): string {
    return `${withoutTrailingSlashes(deps.oauthFrontendUrl)}${path}?${new URLSearchParams(query)}`;
  }

  return {
    async providers() {
      return { status: 200, body: { providers: enabledProviders(deps.providers) } };
    },
    async start({ params, headers, cookies }) {
      try {
        const begun = await beginOAuthLogin(deps, {
          provider: params.provider,
          browserSecret: cookies[OAUTH_COOKIE] || undefined,
        });
        const cookie = oauthCookie(deps.cookies, begun.browserSecret, BROWSER_KNOWN_MINUTES * 60);
        return redirect(begun.redirectTo, [cookie]);
      } catch (err) {
        // A browser is redirected to a page; a program gets the JSON.
        if (!wantsPage(headers) || !isForPeople(err)) throw err;
        return redirect(page('/login', { oauth_error: toApiError(err).code }));
      }
    },
    async callback({ params, query, headers, cookies, traceId }) {
      const { provider } = params;
      try {
        const outcome = await finishOAuthLogin(deps, {
          provider,
          params: paramsOf(query),
          browserSecret: cookies[OAUTH_COOKIE],
          traceId,
        });
        if (outcome.is === 'pending')
          return redirect(page('/oauth/complete', { provider, token: outcome.token }));
        return redirect(page('/oauth/callback', { provider }), sessionCookies(deps.cookies, outcome.grant));
      } catch (err) {
        // Without a database the state of the login is unknown: a browser is told on the page, as at the
        // start.
        if (!(err instanceof ApiError) && !(wantsPage(headers) && isForPeople(err))) throw err;
        const error = toApiError(err);
        if (error.cause)
          deps.log.warn({ err: error.cause, provider, trace_id: traceId }, 'social login failed');
        return redirect(page('/login', { oauth_error: error.code, provider }));
      }
    },
    async completeSignup({ body, headers, cookies, traceId }) {
      const { token, company_name: companyName } = body;
      // Every browser names the page that posts.
      const browser = headers.origin === undefined ? null : { secret: cookies[OAUTH_COOKIE] };
      return withSession(deps, await completeOAuthSignup(deps, { token, companyName, browser, traceId }));
    },
  };
}

function wantsPage(headers: IncomingHttpHeaders): boolean {
  return headers.accept?.includes('text/html') ?? false;
}

/**
 * Whether the error is expected, including an unreachable database; any other is a bug and is logged as one.
 */
function isForPeople(err: unknown): boolean {
  return err instanceof ApiError || isUnavailable(err);
}

/** Caches must never keep it: it carries a state or a session. */
function redirect(
  location: string,
  cookies: string[] = [],
): { status: 302; headers: Record<string, string | string[]> } {
  return {
    status: 302,
    headers: {
      location,
      'cache-control': 'no-store',
      ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}),
    },
  };
}

/** Repeated parameters stay repeated: the protocol forbids them, and the check must see them. */
function paramsOf(query: Record<string, unknown>): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) params.append(name, String(each));
  return params;
}
