import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { cookiesOf, refused } from './support/api-client.ts';
import { newMember, newOwner, type Person } from './support/people.ts';

describe('POST /v1/auth/refresh', () => {
  let server: AccountServer;
  let owner: Person;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const refresh = (cookies: Record<string, string>, csrf: string | undefined = cookies.svc_csrf_token) =>
    server.api('POST', '/v1/auth/refresh', { cookies, ...(csrf === undefined ? {} : { csrf }) });
  const expireOverlap = () => server.clock.advance(10_001);

  test('200: a session payload, a JWT that works and a rotated cookie; the CSRF token stays', async () => {
    owner = await newOwner(server);
    const answer = await refresh(owner.cookies);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.email, owner.email);
    assert.equal(answer.body.company_id, owner.companyId);
    assert.equal((await server.api('GET', '/v1/users', { jwt: answer.body.token })).status, 200);
    const cookies = cookiesOf(answer);
    assert.notEqual(cookies.svc_refresh_token, owner.cookies.svc_refresh_token);
    assert.equal(cookies.svc_csrf_token, owner.csrf);
    assert.match(answer.setCookies.svc_refresh_token!, /HttpOnly/);
  });

  test('200: rotates on every use, time and again', async () => {
    let cookies = (await newOwner(server)).cookies;
    const seen = new Set<string>();
    for (let i = 0; i < 10; i++) {
      const answer = await refresh(cookies);
      assert.equal(answer.status, 200);
      cookies = cookiesOf(answer);
      seen.add(cookies.svc_refresh_token!);
      expireOverlap();
    }
    assert.equal(seen.size, 10);
  });

  test('200: a client that never saw the answer may ask again within the overlap and gets the same successor', async () => {
    const { cookies } = await newOwner(server);
    const first = cookiesOf(await refresh(cookies));
    server.clock.advance(9_000);
    const second = await refresh(cookies);
    assert.equal(second.status, 200);
    assert.deepEqual(cookiesOf(second), first);
  });

  test('401 REFRESH_FAILED: 90 days after the login, however often it was used', async () => {
    let { cookies } = await newOwner(server);
    const loggedInAt = server.clock.now().getTime();
    const endsAt = loggedInAt + 90 * 86_400_000;
    for (let day = 20; day <= 80; day += 20) {
      server.clock.advance(20 * 86_400_000);
      const answer = await refresh(cookies);
      assert.equal(answer.status, 200, `after ${day} days`);
      cookies = cookiesOf(answer);
      const lasts = Number(/Max-Age=(\d+)/.exec(answer.setCookies.svc_refresh_token!)![1]);
      const left = endsAt - server.clock.now().getTime();
      assert.equal(lasts, Math.min(30 * 86_400, left / 1000), 'the cookie ends with the session');
    }
    server.clock.advance(endsAt - server.clock.now().getTime() - 1);
    const last = await refresh(cookies);
    assert.equal(last.status, 200);
    server.clock.advance(1);
    refused(await refresh(cookiesOf(last)), 401, 'REFRESH_FAILED');
    const account = { body: { current_password: 'x' }, cookies: cookiesOf(last) };
    const deletion = await server.api('DELETE', '/v1/auth/me/account', {
      ...account,
      csrf: cookiesOf(last).svc_csrf_token!,
    });
    refused(deletion, 401, 'UNAUTHORIZED');
  });

  test('401 REFRESH_FAILED: no cookie, and one that nobody issued', async () => {
    refused(await refresh({}), 401, 'REFRESH_FAILED');
    refused(await refresh({ svc_refresh_token: 'x'.repeat(43), svc_csrf_token: 'y' }), 401, 'REFRESH_FAILED');
  });

  test('401 REFRESH_FAILED: an old token after the overlap ends the whole family', async () => {
    const { cookies, companyId } = await newOwner(server);
    const next = cookiesOf(await refresh(cookies));
    expireOverlap();
    refused(await refresh(cookies), 401, 'REFRESH_FAILED');
    refused(await refresh(next), 401, 'REFRESH_FAILED');
    const { rows } = await server.db.query('SELECT 1 FROM audit_log WHERE company_id = $1 AND action = $2', [
      companyId,
      'session.reuse_detected',
    ]);
    assert.equal(rows.length, 1);
  });

  test('401 REFRESH_FAILED: one stolen session ends alone, the user keeps the others', async () => {
    const person = await newOwner(server);
    const other = await server.api('POST', '/v1/auth/login', {
      body: { email: person.email, password: person.password },
    });
    await refresh(person.cookies);
    expireOverlap();
    refused(await refresh(person.cookies), 401, 'REFRESH_FAILED');
    assert.equal((await refresh(cookiesOf(other))).status, 200);
  });

  test('401 REFRESH_FAILED: 30 days after its last use', async () => {
    const { cookies } = await newOwner(server);
    server.clock.advance(30 * 86_400_000);
    refused(await refresh(cookies), 401, 'REFRESH_FAILED');
  });

  test('403 CSRF_INVALID: the header is missing, differs, or has no cookie to match', async () => {
    const { cookies, csrf } = await newOwner(server);
    refused(await server.api('POST', '/v1/auth/refresh', { cookies }), 403, 'CSRF_INVALID');
    refused(await refresh(cookies, `${csrf}x`), 403, 'CSRF_INVALID');
    refused(await refresh(cookies, ''), 403, 'CSRF_INVALID');
    const alone = { svc_refresh_token: cookies.svc_refresh_token! };
    refused(await refresh(alone, csrf), 403, 'CSRF_INVALID');
    refused(await refresh({ ...alone, svc_csrf_token: '' }, ''), 403, 'CSRF_INVALID');
    assert.equal((await refresh(cookies)).status, 200, 'and the token was not spent by it');
  });

  test('403 COMPANY_SUSPENDED, and the session is there again when the company is', async () => {
    const { cookies, companyId } = await newOwner(server);
    await server.db.query(`UPDATE companies SET status = 'suspended' WHERE id = $1`, [companyId]);
    refused(await refresh(cookies), 403, 'COMPANY_SUSPENDED');
    await server.db.query(`UPDATE companies SET status = 'active' WHERE id = $1`, [companyId]);
    assert.equal((await refresh(cookies)).status, 200);
  });

  test('the session carries the role of now, not of the login', async () => {
    const boss = await newOwner(server);
    const member = await newMember(server, boss, 'agent');
    await server.api('PATCH', `/v1/users/${member.userId}`, { jwt: boss.jwt, body: { role: 'admin' } });
    assert.equal((await refresh(member.cookies)).body.role, 'admin');
  });

  test('500 INTERNAL_ERROR: when rotating breaks, the token in hand stays good', async () => {
    const { cookies } = await newOwner(server);
    await server.db.query('ALTER TABLE refresh_tokens ADD CONSTRAINT broken CHECK (false) NOT VALID');
    const answer = await refresh(cookies);
    await server.db.query('ALTER TABLE refresh_tokens DROP CONSTRAINT broken');
    refused(answer, 500, 'INTERNAL_ERROR');
    assert.equal((await refresh(cookies)).status, 200);
  });
});
