import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { cookiesOf, refused } from './support/api-client.ts';
import { logIn, newOwner } from './support/people.ts';

describe('POST /v1/auth/logout', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const refresh = (cookies: Record<string, string>) =>
    server.api('POST', '/v1/auth/refresh', { cookies, csrf: cookies.svc_csrf_token! });

  test('204: the JWT is refused from the next request on, the refresh token too, and the cookies go', async () => {
    const person = await newOwner(server);
    assert.equal((await server.api('GET', '/v1/users', { jwt: person.jwt })).status, 200);
    const answer = await server.api('POST', '/v1/auth/logout', {
      jwt: person.jwt,
      cookies: person.cookies,
      csrf: person.csrf,
    });
    assert.equal(answer.status, 204);
    assert.equal(answer.text, '');
    for (const name of ['svc_refresh_token', 'svc_csrf_token'])
      assert.match(answer.setCookies[name]!, /^[a-z_]+=; .*Max-Age=0/);
    refused(await server.api('GET', '/v1/users', { jwt: person.jwt }), 401, 'TOKEN_INVALID');
    refused(await refresh(person.cookies), 401, 'REFRESH_FAILED');
  });

  test('204: the refresh token of the session ends, also without the cookie', async () => {
    const person = await newOwner(server);
    assert.equal((await server.api('POST', '/v1/auth/logout', { jwt: person.jwt })).status, 204);
    refused(await refresh(person.cookies), 401, 'REFRESH_FAILED');
  });

  test('204: the CSRF header is recommended, not required', async () => {
    const person = await newOwner(server);
    const answer = await server.api('POST', '/v1/auth/logout', { jwt: person.jwt, cookies: person.cookies });
    assert.equal(answer.status, 204);
  });

  test('204: other sessions of the user stay valid', async () => {
    const person = await newOwner(server);
    const other = await logIn(server, person.email);
    await server.api('POST', '/v1/auth/logout', { jwt: person.jwt });
    assert.equal((await server.api('GET', '/v1/users', { jwt: other.body.token })).status, 200);
    assert.equal((await refresh(cookiesOf(other))).status, 200);
  });

  test("204: another user's cookie that comes along ends nothing of theirs", async () => {
    const person = await newOwner(server);
    const stranger = await newOwner(server);
    await server.api('POST', '/v1/auth/logout', { jwt: person.jwt, cookies: stranger.cookies });
    assert.equal((await refresh(stranger.cookies)).status, 200);
  });

  test('204 with a key: clears the cookies and ends neither the key nor any session', async () => {
    const person = await newOwner(server);
    const answer = await server.api('POST', '/v1/auth/logout', { key: person.key, cookies: person.cookies });
    assert.equal(answer.status, 204);
    assert.match(answer.setCookies.svc_refresh_token!, /Max-Age=0/);
    assert.equal((await server.api('GET', '/v1/tokens', { key: person.key })).status, 200);
    assert.equal((await server.api('GET', '/v1/users', { jwt: person.jwt })).status, 200);
    assert.equal((await refresh(person.cookies)).status, 200);
  });

  test('401 UNAUTHORIZED with nothing, TOKEN_INVALID with a wrong JWT or key', async () => {
    refused(await server.api('POST', '/v1/auth/logout'), 401, 'UNAUTHORIZED');
    refused(await server.api('POST', '/v1/auth/logout', { jwt: 'a.b.c' }), 401, 'TOKEN_INVALID');
    refused(
      await server.api('POST', '/v1/auth/logout', { key: `svc_${'0'.repeat(64)}` }),
      401,
      'TOKEN_INVALID',
    );
  });
});
