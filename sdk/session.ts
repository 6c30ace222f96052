import { isBrowser } from './attempt.ts';
import type { CompleteSignupBody, LoginBody, Session as SessionUser } from './contract-types.ts';
import { encodeBody } from './encode-request.ts';
import { PosthornError } from './error.ts';
import type { TokenSource } from './token-source.ts';
import { createTransport, type TransportOptions } from './transport.ts';

/** The stored form of a login, with which another process can continue it. As secret as a password. */
export interface StoredSession {
  token: string;
  expiresAtMs: number;
  /** Null in a browser, which keeps both as cookies. */
  refreshToken: string | null;
  csrfToken: string | null;
}

export interface SessionOptions
  extends Pick<TransportOptions, 'baseUrl' | 'fetch' | 'timeoutMs' | 'logger' | 'headers'> {
  /** A login that was stored before. */
  stored?: StoredSession | null | undefined;
  /** Called with each new login and renewal, and with null at the end. */
  onChange?: ((stored: StoredSession | null) => void) | undefined;
}

/** A login with a password, which renews itself for as long as it is used. */
export interface Session extends TokenSource {
  login(body: LoginBody): Promise<SessionUser>;
  /** Completes a sign-up that began at Google or GitHub, and logs in. */
  completeSignup(body: CompleteSignupBody): Promise<SessionUser>;
  /** Ends the session, also at the service. Does not fail if it has already ended. */
  logout(): Promise<void>;
  /** Null before the login and after the logout. */
  stored(): StoredSession | null;
  /**
   * The user of the session, as the service named it at the last login or renewal; null before one and after the
   * logout.
   */
  user(): SessionUser | null;
}

const REFRESH_COOKIE = 'svc_refresh_token';
const CSRF_COOKIE = 'svc_csrf_token';
/** A token is renewed when it has less than this left. */
const MARGIN_MS = 30_000;
/** The lifetime assumed for a token that we cannot read: a quarter of an hour. */
const FALLBACK_LIFETIME_MS = 900_000;

/**
 * A session for `createClient({ baseUrl, session })`. The calls of all clients that share it wait for one renewal.
 *
 * @example
 * const session = createSession({ baseUrl });
 * await session.login({ email, password });
 * const client = createClient({ baseUrl, session });
 */
// long: what is kept of one login, and the calls that share it.
export function createSession(options: SessionOptions): Session {
  const transport = createTransport(options);
  let stored = options.stored ?? null;
  let user: SessionUser | null = null;
  let renewing: Promise<string> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  function keep(next: StoredSession | null, of: SessionUser | null): void {
    user = of;
    stored = next;
    options.onChange?.(next);
  }

  /**
   * The session's cookies as headers, where the platform keeps no cookies; a browser forbids that and sends them
   * itself.
   */
  function proof(): Record<string, string | undefined> {
    if (isBrowser()) return { 'x-csrf-token': cookieOfPage(CSRF_COOKIE) };
    const { refreshToken, csrfToken } = stored ?? {};
    if (!refreshToken) return {};
    const cookie = `${REFRESH_COOKIE}=${refreshToken}; ${CSRF_COOKIE}=${csrfToken ?? ''}`;
    return { cookie, 'x-csrf-token': csrfToken ?? undefined };
  }

  async function ask(
    path: string,
    headers: Record<string, string | undefined>,
    body?: LoginBody | CompleteSignupBody,
  ) {
    const { body: answer, response } = await transport.send({
      method: 'POST',
      path,
      route: path,
      headers,
      body: await encodeBody('none', body),
      answer: path.endsWith('/logout') ? 'none' : 'json',
      // A repeated refresh gives the same successor, and a session can be ended twice.
      isRepeatable: path.endsWith('/refresh') || path.endsWith('/logout'),
      withCookies: true,
    });
    return { user: answer as SessionUser, cookies: cookiesOf(response.headers) };
  }

  /** Runs logins, renewals and logouts one after the other, so that a late answer cannot undo a later change. */
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = last.then(run, run);
    last = turn;
    return turn;
  }

  async function refresh(): Promise<string> {
    const before = stored;
    return inTurn(async () => {
      // Somebody logged in or out while this renewal waited for its turn.
      if (stored !== before) return stored ? stored.token : Promise.reject(notLoggedIn());
      const { user, cookies } = await ask('/v1/auth/refresh', proof());
      keep(sessionOf(user, cookies, stored), user);
      return user.token;
    });
  }

  function renewOnce(): Promise<string> {
    renewing ??= refresh().finally(() => {
      renewing = null;
    });
    return renewing;
  }

  function begin(path: string, body: LoginBody | CompleteSignupBody): Promise<SessionUser> {
    return inTurn(async () => {
      const { user, cookies } = await ask(path, {}, body);
      keep(sessionOf(user, cookies, null), user);
      return user;
    });
  }

  async function end(): Promise<void> {
    if (!stored) return;
    try {
      await ask('/v1/auth/logout', { ...proof(), authorization: `Bearer ${stored.token}` });
    } catch (error) {
      // The session had already ended, perhaps by an attempt whose answer was lost.
      if (!(error instanceof PosthornError) || error.status !== 401) throw error;
    }
    keep(null, null);
  }

  return {
    stored: () => stored,
    user: () => user,
    login: (body) => begin('/v1/auth/login', body),
    completeSignup: (body) => begin('/v1/auth/oauth/complete-signup', body),
    async token() {
      // A page that was reloaded has the cookies but no token.
      if (!stored && !isBrowser()) throw notLoggedIn();
      if (stored && stored.expiresAtMs - Date.now() > MARGIN_MS) return stored.token;
      return renewOnce();
    },
    async renew(rejected) {
      if (stored && stored.token !== rejected) return stored.token;
      return renewOnce();
    },
    logout: () => inTurn(end),
  };
}

function notLoggedIn(): PosthornError {
  return new PosthornError({
    code: 'NO_CREDENTIALS',
    status: 0,
    message: 'nobody is logged in: call session.login first',
  });
}

function sessionOf(
  user: SessionUser,
  cookies: ReadonlyMap<string, string>,
  before: StoredSession | null,
): StoredSession {
  return {
    token: user.token,
    expiresAtMs: expiryMsOf(user.token),
    refreshToken: cookies.get(REFRESH_COOKIE) ?? before?.refreshToken ?? null,
    csrfToken: cookies.get(CSRF_COOKIE) ?? before?.csrfToken ?? null,
  };
}

function cookiesOf(headers: Headers): Map<string, string> {
  return new Map(headers.getSetCookie?.().map((line) => pairOf(line.split(';')[0] ?? '')));
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

function cookieOfPage(name: string): string | undefined {
  const { document } = globalThis as { document?: { cookie?: string } };
  return new Map(document?.cookie?.split(';').map(pairOf)).get(name);
}

/**
 * When the JWT expires by our own clock, which may differ from the service's: its lifetime, counted from now. It is not
 * verified, since only the time of the renewal depends on it.
 */
function expiryMsOf(token: string): number {
  try {
    const claims = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    const { exp, iat } = JSON.parse(atob(claims)) as { exp?: unknown; iat?: unknown };
    if (typeof exp === 'number' && typeof iat === 'number') return Date.now() + (exp - iat) * 1000;
    if (typeof exp === 'number') return exp * 1000;
  } catch {
    // Not a JWT that we can read: assume the usual lifetime.
  }
  return Date.now() + FALLBACK_LIFETIME_MS;
}
