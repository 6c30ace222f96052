import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { askUntilServed } from '../support/ask-until-served.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type ApiAnswer, refused } from './support/api-client.ts';
import { startOutage } from './support/outage.ts';
import { newEmail, newOwner, PASSWORD, register } from './support/people.ts';

/** Each takes a tenth of a second of a core. */
const AT_ONCE = sized(12, 30, 30);

describe('POST /v1/auth/login', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const login = (email: unknown, password: unknown = PASSWORD) =>
    server.api('POST', '/v1/auth/login', { body: { email, password } });
  const fail = async (email: string, times: number) => {
    const answers: ApiAnswer[] = [];
    for (let i = 0; i < times; i++) answers.push(await login(email, `wrong ${i}`));
    return answers;
  };

  test('200: the session payload, and a JWT with the claims of ACC-9', async () => {
    const email = newEmail();
    const { company_id } = (await register(server, email)).body;
    const answer = await login(email);
    assert.equal(answer.status, 200);
    const { token, ...rest } = answer.body;
    assert.deepEqual(rest, {
      company_id,
      user_id: rest.user_id,
      role: 'owner',
      email,
      name: 'Olivia',
      is_superadmin: false,
      email_verified: false,
    });
    assert.equal(decodeProtectedHeader(token).alg, 'HS256');
    const claims = decodeJwt(token);
    assert.equal(claims.company_id, company_id);
    assert.equal(claims.user_id, rest.user_id);
    assert.equal(claims.role, 'owner');
    assert.equal(claims.is_superadmin, false);
    assert.equal(typeof claims.pwd_changed_at, 'number');
    assert.equal(claims.sub, String(rest.user_id));
    assert.equal(claims.exp! - claims.iat!, 900);
    assert.ok(claims.jti && claims.iss);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal((await server.api('GET', '/v1/users', { jwt: token })).status, 200);
  });

  test('200: the refresh cookie is HttpOnly, the CSRF cookie is for scripts, both SameSite and Secure', async () => {
    const email = newEmail();
    await register(server, email);
    const { setCookies } = await login(email);
    assert.deepEqual(Object.keys(setCookies).sort(), ['svc_csrf_token', 'svc_refresh_token']);
    for (const cookie of Object.values(setCookies)) {
      assert.match(cookie, /; Path=\//);
      assert.match(cookie, /; SameSite=Lax/);
      assert.match(cookie, /; Secure/);
      assert.match(cookie, /; Max-Age=2592000/);
    }
    assert.match(setCookies.svc_refresh_token!, /; HttpOnly/);
    assert.doesNotMatch(setCookies.svc_csrf_token!, /HttpOnly/);
  });

  test('200: in development the cookies go without Secure', async () => {
    const local = await startAccountServer({ NODE_ENV: 'development' });
    try {
      const email = newEmail();
      await register(local, email);
      const { setCookies } = await local.api('POST', '/v1/auth/login', {
        body: { email, password: PASSWORD },
      });
      for (const cookie of Object.values(setCookies)) assert.doesNotMatch(cookie, /Secure/);
    } finally {
      await local.close();
    }
  });

  test('200: the e-mail matches in any case', async () => {
    const email = newEmail();
    await register(server, email);
    assert.equal((await login(` ${email.toUpperCase()}`)).status, 200);
  });

  test('400 INVALID_JSON and MISSING_FIELD', async () => {
    refused(await server.api('POST', '/v1/auth/login', { rawBody: 'nope' }), 400, 'INVALID_JSON');
    refused(await login(undefined), 400, 'MISSING_FIELD');
    refused(await login('a@example.test', ''), 400, 'MISSING_FIELD');
    refused(await login(['a@example.test']), 400, 'INVALID_JSON');
  });

  test('401 INVALID_CREDENTIALS: a wrong password, nobody, and an account without a password look the same', async () => {
    const known = newEmail();
    await register(server, known);
    const social = newEmail();
    await register(server, social);
    await server.db.query('UPDATE users SET password_hash = NULL WHERE email = $1', [social]);
    const answers = [await login(known, 'wrong'), await login(newEmail()), await login(social)];
    for (const answer of answers) refused(answer, 401, 'INVALID_CREDENTIALS');
    const shape = (answer: ApiAnswer) => ({
      body: { ...answer.body, trace_id: '' },
      headers: [...answer.headers].filter(([name]) => !['date', 'x-trace-id'].includes(name)),
    });
    assert.deepEqual(shape(answers[1]!), shape(answers[0]!));
    assert.deepEqual(shape(answers[2]!), shape(answers[0]!));
  });

  test('403 ACCOUNT_DELETED: only with the right password, and without a session', async () => {
    const owner = await newOwner(server);
    await server.db.query(`UPDATE companies SET status = 'deleted', deleted_at = now() WHERE id = $1`, [
      owner.companyId,
    ]);
    const answer = await login(owner.email);
    refused(answer, 403, 'ACCOUNT_DELETED');
    assert.deepEqual(answer.setCookies, {});
    refused(await login(owner.email, 'wrong'), 401, 'INVALID_CREDENTIALS');
  });

  test('403 COMPANY_SUSPENDED', async () => {
    const owner = await newOwner(server);
    await server.db.query(`UPDATE companies SET status = 'suspended' WHERE id = $1`, [owner.companyId]);
    refused(await login(owner.email), 403, 'COMPANY_SUSPENDED');
  });

  test('429 ACCOUNT_LOCKED: the fifth failure within 15 minutes locks for 15, the right password included', async () => {
    const email = newEmail();
    await register(server, email);
    for (const answer of await fail(email, 5)) refused(answer, 401, 'INVALID_CREDENTIALS');
    const locked = await login(email);
    refused(locked, 429, 'ACCOUNT_LOCKED');
    assert.equal(locked.headers.get('retry-after'), '900');
    server.clock.advance(899_000);
    refused(await login(email), 429, 'ACCOUNT_LOCKED');
    server.clock.advance(1_000);
    assert.equal((await login(email)).status, 200);
  });

  test('429 ACCOUNT_LOCKED: an address nobody registered locks just the same, in the same bytes', async () => {
    const known = newEmail();
    await register(server, known);
    const unknown = newEmail();
    await fail(known, 5);
    await fail(unknown, 5);
    const [first, second] = [await login(known), await login(unknown)];
    refused(first, 429, 'ACCOUNT_LOCKED');
    refused(second, 429, 'ACCOUNT_LOCKED');
    assert.deepEqual({ ...first.body, trace_id: '' }, { ...second.body, trace_id: '' });
    assert.equal(first.headers.get('retry-after'), second.headers.get('retry-after'));
  });

  test('four failures and a success begin a new count; so do 15 quiet minutes', async () => {
    const email = newEmail();
    await register(server, email);
    await fail(email, 4);
    assert.equal((await login(email)).status, 200);
    await fail(email, 4);
    server.clock.advance(15 * 60_000);
    await fail(email, 4);
    assert.equal((await login(email)).status, 200);
  });

  test('any five failures within 15 minutes lock, and no five that took longer', async () => {
    const email = newEmail();
    await register(server, email);
    await fail(email, 1);
    server.clock.advance(14 * 60_000);
    await fail(email, 3);
    server.clock.advance(2 * 60_000);
    for (const answer of await fail(email, 2)) refused(answer, 401, 'INVALID_CREDENTIALS');
    refused(await login(email), 429, 'ACCOUNT_LOCKED');
    const slow = newEmail();
    await register(server, slow);
    for (let failures = 0; failures < 8; failures += 1) {
      for (const answer of await fail(slow, 1)) refused(answer, 401, 'INVALID_CREDENTIALS');
      server.clock.advance(4 * 60_000);
    }
    assert.equal((await login(slow)).status, 200);
  });

  test('trying while locked does not prolong the lock', async () => {
    const email = newEmail();
    await register(server, email);
    await fail(email, 5);
    server.clock.advance(14 * 60_000);
    await fail(email, 3);
    server.clock.advance(60_000);
    assert.equal((await login(email)).status, 200);
  });

  test(`at most five of ${AT_ONCE} simultaneous wrong guesses learn that they were wrong`, async () => {
    const email = newEmail();
    await register(server, email);
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => askUntilServed(() => login(email, `guess ${i}`))),
    );
    assert.equal(answers.filter((answer) => answer.status === 401).length, 5);
    assert.equal(answers.filter((answer) => answer.status === 429).length, AT_ONCE - 5);
  });

  test(`${AT_ONCE} right logins at once all succeed`, async () => {
    const email = newEmail();
    await register(server, email);
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, () => askUntilServed(() => login(email))),
    );
    assert.ok(answers.every((answer) => answer.status === 200));
  });

  test('503 SERVICE_UNAVAILABLE with Retry-After while the database refuses connections', async () => {
    const email = newEmail();
    await register(server, email);
    const admin = await startOutage(server);
    try {
      const answer = await login(email);
      refused(answer, 503, 'SERVICE_UNAVAILABLE');
      assert.ok(Number(answer.headers.get('retry-after')) > 0);
    } finally {
      await admin.end();
    }
    await waitFor(async () => (await login(email)).status === 200);
  });
});
