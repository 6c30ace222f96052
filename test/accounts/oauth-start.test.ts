import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { begin, CONSOLE, type OAuthSetup, startOAuth } from './support/oauth.ts';
import { CALLBACK_BASE } from './support/openid-browser.ts';
import { startOutage } from './support/outage.ts';

describe('GET /v1/auth/oauth/{provider}/start', () => {
  let setup: OAuthSetup;
  before(async () => {
    setup = await startOAuth();
  });
  after(() => setup.close());

  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

  test('302 google: everything a code flow needs, with PKCE and nonce', async () => {
    const { url, cookies } = await begin(setup, 'google');
    const target = new URL(url);
    assert.equal(target.origin, setup.openid.issuer);
    const query = Object.fromEntries(target.searchParams);
    assert.equal(query.client_id, 'posthorn');
    assert.equal(query.response_type, 'code');
    assert.equal(query.scope, 'openid email profile');
    assert.equal(query.redirect_uri, `${CALLBACK_BASE}/v1/auth/oauth/google/callback`);
    assert.equal(query.code_challenge_method, 'S256');
    for (const name of ['state', 'nonce', 'code_challenge']) assert.match(query[name]!, /^[\w-]{43}$/);
    assert.match(cookies.svc_oauth!, /^[\w-]{43}$/);
  });

  test('302 github: its own scopes', async () => {
    const target = new URL((await begin(setup, 'github', '?mode=signup')).url);
    assert.equal(target.origin + target.pathname, `${setup.github.url}/login/oauth/authorize`);
    assert.equal(target.searchParams.get('scope'), 'read:user user:email');
    assert.equal(target.searchParams.get('response_type'), 'code');
    assert.equal(target.searchParams.get('redirect_uri'), `${CALLBACK_BASE}/v1/auth/oauth/github/callback`);
    assert.ok(target.searchParams.get('state') && target.searchParams.get('code_challenge'));
  });

  test('302: no two states are alike, and none is stored in the clear', async () => {
    const states = new Set<string>();
    for (let i = 0; i < 5; i++)
      states.add(new URL((await begin(setup, 'google')).url).searchParams.get('state')!);
    assert.equal(states.size, 5);
    const { rows } = await setup.server.db.query<{ row: string }>(
      'SELECT s::text AS row FROM oauth_states s',
    );
    for (const state of states) assert.ok(!rows.some(({ row }) => row.includes(state)));
  });

  test('302: the cookie is HttpOnly and lasts until a sign-up has to be complete', async () => {
    const answer = await setup.server.api('GET', '/v1/auth/oauth/google/start');
    assert.match(answer.setCookies.svc_oauth!, /Path=\/; Max-Age=1500; SameSite=Lax; HttpOnly; Secure/);
  });

  test('302: a browser sends the cookie back to an API that is reached behind a path', async () => {
    const behind = await startAccountServer({
      PUBLIC_URL: `${CALLBACK_BASE}/posthorn`,
      OAUTH_GITHUB_ENABLED: 'true',
      OAUTH_GITHUB_CLIENT_ID: 'x',
      OAUTH_GITHUB_CLIENT_SECRET: 'y',
    });
    try {
      const answer = await behind.api('GET', '/v1/auth/oauth/github/start');
      const target = new URL(answer.headers.get('location')!);
      const callback = target.searchParams.get('redirect_uri')!;
      assert.equal(callback, `${CALLBACK_BASE}/posthorn/v1/auth/oauth/github/callback`);
      const path = /Path=([^;]+)/.exec(answer.setCookies.svc_oauth!)![1]!;
      // RFC 6265, 5.1.4: the cookie's path begins that of the request.
      assert.ok(new URL(callback).pathname.startsWith(path), path);
    } finally {
      await behind.close();
    }
  });

  test('400 OAUTH_PROVIDER_INVALID, as JSON and as a redirect', async () => {
    refused(await setup.server.api('GET', '/v1/auth/oauth/myspace/start'), 400, 'OAUTH_PROVIDER_INVALID');
    const page = await setup.server.api('GET', '/v1/auth/oauth/myspace/start', { headers: html });
    assert.equal(page.status, 302);
    assert.equal(page.headers.get('location'), `${CONSOLE}/login?oauth_error=OAUTH_PROVIDER_INVALID`);
  });

  test('200: a page can ask which providers are enabled', async () => {
    const listed = await setup.server.api('GET', '/v1/auth/oauth/providers');
    assert.deepEqual([listed.status, listed.body], [200, { providers: ['google', 'github'] }]);
  });

  test('302: an unknown mode counts as the default', async () => {
    assert.equal((await setup.server.api('GET', '/v1/auth/oauth/google/start?mode=x')).status, 302);
  });

  test('503 OAUTH_PROVIDER_DISABLED: not enabled, or without both credentials', async () => {
    const credentials = { OAUTH_GITHUB_CLIENT_ID: 'x', OAUTH_GITHUB_CLIENT_SECRET: 'y' };
    const settings: Record<string, string>[] = [
      {},
      credentials,
      { OAUTH_GITHUB_ENABLED: 'true', OAUTH_GITHUB_CLIENT_ID: 'x' },
      { OAUTH_GITHUB_ENABLED: 'true', OAUTH_GITHUB_CLIENT_SECRET: 'y' },
      { ...credentials, OAUTH_GITHUB_ENABLED: 'false' },
    ];
    for (const env of settings) {
      const server = await startAccountServer({ ...env, FRONTEND_URL: CONSOLE });
      try {
        refused(await server.api('GET', '/v1/auth/oauth/github/start'), 503, 'OAUTH_PROVIDER_DISABLED');
        const page = await server.api('GET', '/v1/auth/oauth/github/start', { headers: html });
        assert.equal(page.headers.get('location'), `${CONSOLE}/login?oauth_error=OAUTH_PROVIDER_DISABLED`);
        const listed = await server.api('GET', '/v1/auth/oauth/providers');
        assert.deepEqual([listed.status, listed.body], [200, { providers: [] }]);
      } finally {
        await server.close();
      }
    }
  });

  test('503 SERVICE_UNAVAILABLE: the database is away, as JSON and as a redirect; so at the callback', async () => {
    const outage = await startOutage(setup.server);
    try {
      for (const provider of ['google', 'github']) {
        const start = `/v1/auth/oauth/${provider}/start`;
        refused(await setup.server.api('GET', start), 503, 'SERVICE_UNAVAILABLE');
        const page = await setup.server.api('GET', start, { headers: html });
        assert.equal(page.status, 302, page.text);
        assert.equal(page.headers.get('location'), `${CONSOLE}/login?oauth_error=SERVICE_UNAVAILABLE`);
      }
      const back = '/v1/auth/oauth/google/callback?state=x&code=y';
      const cookies = { svc_oauth: 'z' };
      refused(await setup.server.api('GET', back, { cookies }), 503, 'SERVICE_UNAVAILABLE');
      const page = await setup.server.api('GET', back, { cookies, headers: html });
      const login = `${CONSOLE}/login?oauth_error=SERVICE_UNAVAILABLE&provider=google`;
      assert.equal(page.headers.get('location'), login);
    } finally {
      await outage.end();
    }
  });

  test('503 SERVICE_UNAVAILABLE: the provider is out of reach, as JSON and as a redirect', async () => {
    const lost = await startOAuth({ env: { OAUTH_GOOGLE_ISSUER: 'http://127.0.0.1:1' } });
    try {
      const answer = await lost.server.api('GET', '/v1/auth/oauth/google/start');
      refused(answer, 503, 'SERVICE_UNAVAILABLE');
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
      const page = await lost.server.api('GET', '/v1/auth/oauth/google/start', { headers: html });
      assert.equal(page.headers.get('location'), `${CONSOLE}/login?oauth_error=SERVICE_UNAVAILABLE`);
    } finally {
      await lost.close();
    }
  });
});
