import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { cookiesOf, refused } from './support/api-client.ts';
import { logIn, newOwner, type Person, personOf } from './support/people.ts';

describe('requests that carry the refresh cookie', () => {
  let server: AccountServer;
  let owner: Person;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server);
  });
  after(() => server.close());

  const fill = (path: string) => path.replace(/:\w+/g, '1');

  for (const { name, route } of listRoutes(messagingContract)) {
    const meta = metaOf(route);
    if (route.method === 'GET' || meta.auth === 'none' || meta.csrf === 'optional') continue;
    test(`403 CSRF_INVALID: ${name} without the header, or with another's`, async () => {
      const { jwt, cookies } = owner;
      refused(await server.api(route.method, fill(route.path), { jwt, cookies }), 403, 'CSRF_INVALID');
      const stranger = 'another-token-of-the-same-length'
        .padEnd(owner.csrf.length, 'x')
        .slice(0, owner.csrf.length);
      const answer = await server.api(route.method, fill(route.path), { jwt, cookies, csrf: stranger });
      refused(answer, 403, 'CSRF_INVALID');
    });
  }

  for (const { name, route } of listRoutes(messagingContract)) {
    const meta = metaOf(route);
    if (route.method === 'GET' || meta.auth === 'none' || meta.csrf === 'optional' || meta.auth === 'any')
      continue;
    test(`403 CSRF_INVALID: ${name} takes no key, so one beside the cookie opens nothing`, async () => {
      const { jwt, key, cookies } = owner;
      for (const sent of [key, 'x'])
        for (const who of [{ cookies }, { jwt, cookies }])
          refused(
            await server.api(route.method, fill(route.path), { ...who, key: sent, body: {} }),
            403,
            'CSRF_INVALID',
          );
    });
  }

  for (const { name, route } of listRoutes(messagingContract)) {
    const meta = metaOf(route);
    if (route.method === 'GET' || meta.auth !== 'any') continue;
    test(`the cookie alone does nothing: ${name} answers 401 without another proof`, async () => {
      const { cookies, csrf } = owner;
      const answer = await server.api(route.method, fill(route.path), { cookies, csrf, body: {} });
      refused(answer, 401, 'UNAUTHORIZED');
    });
  }

  test('403 CSRF_INVALID: a cookie and header that another session has, also one of the same user', async () => {
    const own = personOf(await logIn(server, owner.email), owner.email, owner.password, '');
    for (const other of [await newOwner(server), own]) {
      const cookies = { ...owner.cookies, svc_csrf_token: other.csrf };
      const planted = { jwt: owner.jwt, cookies, csrf: other.csrf };
      refused(await server.api('POST', '/v1/tokens', { ...planted, body: {} }), 403, 'CSRF_INVALID');
      refused(
        await server.api('POST', '/v1/auth/refresh', { ...planted, jwt: undefined }),
        403,
        'CSRF_INVALID',
      );
      const account = { ...planted, jwt: undefined, body: { current_password: owner.password } };
      refused(await server.api('DELETE', '/v1/auth/me/account', account), 403, 'CSRF_INVALID');
    }
  });

  test('403 CSRF_INVALID: words of somebody’s own choice as cookie and header', async () => {
    const { jwt, cookies } = owner;
    for (const csrf of ['x', 'x'.repeat(owner.csrf.length)]) {
      const planted = { jwt, cookies: { ...cookies, svc_csrf_token: csrf }, csrf, body: {} };
      refused(await server.api('POST', '/v1/tokens', planted), 403, 'CSRF_INVALID');
    }
  });

  test('the token of a session stays the same when it is refreshed', async () => {
    const person = await newOwner(server);
    const { cookies, csrf } = person;
    const refreshed = cookiesOf(await server.api('POST', '/v1/auth/refresh', { cookies, csrf }));
    assert.equal(refreshed.svc_csrf_token, csrf);
    const { jwt } = person;
    const sent = { jwt, cookies: refreshed, csrf, body: {} };
    assert.equal((await server.api('POST', '/v1/tokens', sent)).status, 201);
  });

  test('the header that equals the cookie opens the way', async () => {
    const { jwt, cookies, csrf } = owner;
    assert.equal((await server.api('POST', '/v1/tokens', { jwt, cookies, csrf, body: {} })).status, 201);
  });

  test('reading needs no header; neither does a key, nor a JWT without the cookie', async () => {
    const { jwt, key, cookies } = owner;
    assert.equal((await server.api('GET', '/v1/tokens', { jwt, cookies })).status, 200);
    assert.equal((await server.api('POST', '/v1/tokens', { key, cookies, body: {} })).status, 201);
    assert.equal((await server.api('POST', '/v1/tokens', { jwt, body: {} })).status, 201);
    const onlyCsrf = { svc_csrf_token: cookies.svc_csrf_token! };
    assert.equal((await server.api('POST', '/v1/tokens', { jwt, cookies: onlyCsrf, body: {} })).status, 201);
  });

  test('a key that is none is no way past it: it is refused for itself', async () => {
    const { jwt, cookies } = owner;
    const answer = await server.api('POST', '/v1/tokens', { jwt, key: 'svc_x', cookies, body: {} });
    refused(answer, 401, 'TOKEN_INVALID');
  });

  test('a stale cookie never keeps anybody from logging in', async () => {
    const login = await server.api('POST', '/v1/auth/login', {
      cookies: { svc_refresh_token: 'stale' },
      body: { email: owner.email, password: owner.password },
    });
    assert.equal(login.status, 200);
  });
});
