import { createClient, type Session } from '@posthorn/sdk/index.ts';
import { CommandError } from './fault.ts';
import type { Profile, StoredSession } from './profile.ts';

/** A token is renewed when it has less than this left. */
const MARGIN_MS = 30_000;
const FALLBACK_LIFETIME_MS = 15 * 60_000;

/** The stored form of a login: the JWT and the cookies that renew it (ACC-5, ACC-11). */
export function sessionOf(answer: Session, headers: Headers): StoredSession {
  const cookies = new Map(
    headers.getSetCookie().map((line) => {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
    }),
  );
  return {
    token: answer.token,
    expires_at: new Date(expiryMsOf(answer.token)).toISOString(),
    refresh_token: cookies.get('svc_refresh_token') ?? null,
    csrf_token: cookies.get('svc_csrf_token') ?? null,
  };
}

const renewals = new Set<Promise<unknown>>();

/** A refresh token works once: if the process exits before its successor is stored, the login is lost. */
export async function renewalsSettled(): Promise<void> {
  await Promise.allSettled(renewals);
}

/** The JWT of the stored login, renewed first when it is about to expire. */
export function currentToken(deps: { profile: Profile; url: string }): Promise<string> {
  const token = storedOrRenewed(deps).finally(() => renewals.delete(token));
  renewals.add(token);
  return token;
}

async function storedOrRenewed({ profile, url }: { profile: Profile; url: string }): Promise<string> {
  const session = profile.account(url).session;
  if (!session) throw new CommandError(`not logged in to ${url}: msgctl login`);
  if (Date.parse(session.expires_at) - Date.now() > MARGIN_MS) return session.token;
  if (!session.refresh_token) throw new CommandError('the login has expired: msgctl login');
  try {
    const renewed = await refresh(url, session);
    profile.update(url, { session: renewed });
    return renewed.token;
  } catch (error) {
    // Refresh tokens work once: another msgctl may have been faster.
    const stored = profile.account(url).session;
    if (stored && stored.token !== session.token) return stored.token;
    throw error;
  }
}

async function refresh(url: string, session: StoredSession): Promise<StoredSession> {
  const csrf = session.csrf_token ?? '';
  const response = await createClient({ baseUrl: url }).request<Response>({
    method: 'POST',
    path: '/v1/auth/refresh',
    headers: {
      cookie: `svc_refresh_token=${session.refresh_token}; svc_csrf_token=${csrf}`,
      'x-csrf-token': csrf,
    },
    answer: 'response',
  });
  return sessionOf((await response.json()) as Session, response.headers);
}

function expiryMsOf(token: string): number {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      exp?: unknown;
      iat?: unknown;
    };
    // By our own clock, which may differ from the service's.
    if (typeof claims.exp === 'number' && typeof claims.iat === 'number')
      return Date.now() + (claims.exp - claims.iat) * 1000;
    if (typeof claims.exp === 'number') return claims.exp * 1000;
  } catch {
    // Not a JWT that we can read: assume the usual lifetime.
  }
  return Date.now() + FALLBACK_LIFETIME_MS;
}
