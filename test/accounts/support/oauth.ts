import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { type AccountServer, startAccountServer } from './account-server.ts';
import { type ApiAnswer, cookiesOf } from './api-client.ts';
import { GITHUB_CLIENT, type GithubAccount, type GithubServer, startGithub } from './github-server.ts';
import { CALLBACK_BASE, type OpenIdProvider, startOpenIdProvider } from './openid-browser.ts';

export const CONSOLE = 'https://console.example.test';

export interface Person {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
}

export interface OAuthSetup {
  server: AccountServer;
  openid: OpenIdProvider;
  github: GithubServer;
  close(): Promise<void>;
}

/** The server with both providers enabled: a real OpenID provider process as google, and a simulated GitHub. */
export async function startOAuth(
  options: { env?: Record<string, string>; claimsByUserinfo?: boolean; timeOffMs?: number } = {},
): Promise<OAuthSetup> {
  const openid = await startOpenIdProvider(options);
  const github = await startGithub();
  const server = await startAccountServer({
    PUBLIC_URL: CALLBACK_BASE,
    OAUTH_FRONTEND_REDIRECT_URL: CONSOLE,
    OAUTH_GOOGLE_ENABLED: 'true',
    OAUTH_GOOGLE_CLIENT_ID: 'posthorn',
    OAUTH_GOOGLE_CLIENT_SECRET: 'the secret of the client',
    OAUTH_GOOGLE_ISSUER: openid.issuer,
    OAUTH_GITHUB_ENABLED: 'true',
    OAUTH_GITHUB_CLIENT_ID: GITHUB_CLIENT.id,
    OAUTH_GITHUB_CLIENT_SECRET: GITHUB_CLIENT.secret,
    OAUTH_GITHUB_URL: github.url,
    OAUTH_GITHUB_API_URL: github.apiUrl,
    ...options.env,
  });
  return {
    server,
    openid,
    github,
    async close() {
      await server.close();
      await github.close();
      await openid.stop();
    },
  };
}

export interface Begun {
  /** The address to which the browser was sent. */
  url: string;
  /** The browser's cookies. */
  cookies: Record<string, string>;
}

export async function begin(setup: OAuthSetup, provider: 'google' | 'github', query = ''): Promise<Begun> {
  const answer = await setup.server.api('GET', `/v1/auth/oauth/${provider}/start${query}`);
  assert.equal(answer.status, 302, answer.text);
  return { url: answer.headers.get('location')!, cookies: cookiesOf(answer) };
}

/** Sends the browser back to our callback. */
export function comeBack(setup: OAuthSetup, to: URL, cookies: Record<string, string>): Promise<ApiAnswer> {
  return setup.server.api('GET', to.pathname + to.search, { cookies });
}

/** A complete login by google. */
export async function loginWithGoogle(setup: OAuthSetup, person: Person): Promise<ApiAnswer> {
  const begun = await begin(setup, 'google');
  return comeBack(setup, await setup.openid.authorize(begun.url, person), begun.cookies);
}

/** A complete login by github. */
export async function loginWithGithub(setup: OAuthSetup, account: GithubAccount): Promise<ApiAnswer> {
  const begun = await begin(setup, 'github');
  return comeBack(setup, setup.github.authorize(begun.url, account), begun.cookies);
}

export function googlePerson(change: Partial<Person> = {}): Person {
  const sub = randomUUID();
  return { sub, email: `${sub}@example.test`, email_verified: true, name: 'Gabi', ...change };
}

export function githubAccount(change: Partial<GithubAccount> = {}): GithubAccount {
  const id = randomInt(1, 1_000_000_000);
  return {
    id,
    login: `hub${id}`,
    name: 'Hugo',
    emails: [{ email: `${id}@example.test`, primary: true, verified: true }],
    ...change,
  };
}

/** Asserts the address of a redirect, and returns the rest of the query. */
export function sentTo(answer: ApiAnswer, path: string, query: Record<string, string>): URLSearchParams {
  assert.equal(answer.status, 302, answer.text);
  const url = new URL(answer.headers.get('location')!);
  assert.equal(`${url.origin}${url.pathname}`, `${CONSOLE}${path}`, url.href);
  for (const [name, value] of Object.entries(query)) {
    assert.equal(url.searchParams.get(name), value, url.href);
    url.searchParams.delete(name);
  }
  return url.searchParams;
}

/** Asserts the redirect of a failed login. */
export function failedWith(answer: ApiAnswer, code: string, provider = 'google'): void {
  const rest = sentTo(answer, '/login', { oauth_error: code, provider });
  assert.equal(rest.size, 0);
  assert.equal(answer.setCookies.svc_refresh_token, undefined);
}
