import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { newOwner, type Person } from './support/people.ts';

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
