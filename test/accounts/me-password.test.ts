import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { askUntilServed } from '../support/ask-until-served.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { codeIn } from './support/mailbox.ts';
import { logIn, newEmail, newOwner, type Person } from './support/people.ts';

const NEW = 'eight ch';

describe('PATCH /v1/auth/me/password', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const change = (person: Pick<Person, 'jwt'>, body: Record<string, unknown>) =>
    server.api('PATCH', '/v1/auth/me/password', { jwt: person.jwt, body });
  const works = async (jwt: string) => (await server.api('GET', '/v1/users', { jwt })).status;

  test('200: eight characters do; the new password works and the old one does not', async () => {
    const person = await newOwner(server);
    const answer = await change(person, { current_password: person.password, new_password: NEW });
    assert.equal(answer.status, 200);
    assert.equal(answer.body.requires_relogin, true);
    assert.deepEqual(Object.keys(answer.body).sort(), ['message', 'requires_relogin']);
    await logIn(server, person.email, NEW);
    const old = await server.api('POST', '/v1/auth/login', {
      body: { email: person.email, password: person.password },
    });
    refused(old, 401, 'INVALID_CREDENTIALS');
  });

  test('200: the JWT that asked stays valid until it expires, every other older one answers PASSWORD_CHANGED', async () => {
    const person = await newOwner(server);
    const other = await logIn(server, person.email);
    assert.equal(await works(other.body.token), 200);
    await change(person, { current_password: person.password, new_password: NEW });
    assert.equal(await works(person.jwt), 200);
    refused(await server.api('GET', '/v1/users', { jwt: other.body.token }), 401, 'PASSWORD_CHANGED');
    const fresh = await logIn(server, person.email, NEW);
    assert.equal(await works(fresh.body.token), 200);
    // Another session makes the next change: now the first session's JWT is refused.
    await change({ jwt: fresh.body.token }, { current_password: NEW, new_password: `${NEW}!` });
    refused(await server.api('GET', '/v1/users', { jwt: person.jwt }), 401, 'PASSWORD_CHANGED');
    server.clock.advance(15 * 60_000);
    refused(await server.api('GET', '/v1/users', { jwt: fresh.body.token }), 401, 'TOKEN_EXPIRED');
  });

  test('200: all refresh tokens end, the keys stay', async () => {
    const person = await newOwner(server);
    const other = await logIn(server, person.email);
    await change(person, { current_password: person.password, new_password: NEW });
    for (const session of [person.cookies, { ...person.cookies, ...cookies(other.setCookies) }])
      refused(
        await server.api('POST', '/v1/auth/refresh', { cookies: session, csrf: session.svc_csrf_token! }),
        401,
        'REFRESH_FAILED',
      );
    assert.equal((await server.api('GET', '/v1/tokens', { key: person.key })).status, 200);
  });

  test('200: open reset links and a pending e-mail change end with the old password', async () => {
    const person = await newOwner(server);
    const newAddress = newEmail();
    await server.api('POST', '/v1/auth/forgot-password', { body: { email: person.email } });
    await server.api('POST', '/v1/auth/me/email/start', {
      jwt: person.jwt,
      body: { new_email: newAddress, current_password: person.password },
    });
    const code = codeIn(await server.lastMail(newAddress));
    await change(person, { current_password: person.password, new_password: NEW });
    const confirmed = await server.api('POST', '/v1/auth/me/email/confirm', {
      jwt: person.jwt,
      body: { code },
    });
    refused(confirmed, 404, 'EMAIL_CHANGE_NOT_FOUND');
    const { rows } = await server.db.query('SELECT 1 FROM password_links WHERE user_id = $1', [
      person.userId,
    ]);
    assert.equal(rows.length, 0);
  });

  test('one of two simultaneous changes wins, and the other learns that the password has changed', async () => {
    const person = await newOwner(server);
    const answers = await Promise.all(
      ['first one', 'second one'].map((next) =>
        askUntilServed(() => change(person, { current_password: person.password, new_password: next })),
      ),
    );
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 401]);
  });

  test('400 PASSWORD_TOO_SHORT, MISSING_FIELD', async () => {
    const person = await newOwner(server);
    const { password } = person;
    for (const short of ['seven c', '🦊'.repeat(7)])
      refused(
        await change(person, { current_password: password, new_password: short }),
        400,
        'PASSWORD_TOO_SHORT',
      );
    refused(await change(person, { current_password: password }), 400, 'MISSING_FIELD');
    refused(await change(person, { new_password: NEW }), 400, 'MISSING_FIELD');
    const broken = await server.api('PATCH', '/v1/auth/me/password', { jwt: person.jwt, rawBody: '{' });
    refused(broken, 400, 'MISSING_FIELD');
  });

  test('401 INVALID_CURRENT_PASSWORD, also for a user without a password', async () => {
    const person = await newOwner(server);
    const body = { current_password: 'wrong', new_password: NEW };
    refused(await change(person, body), 401, 'INVALID_CURRENT_PASSWORD');
    await server.db.query('UPDATE users SET password_hash = NULL WHERE id = $1', [person.userId]);
    refused(await change(person, body), 401, 'INVALID_CURRENT_PASSWORD');
  });

  test('429 RATE_LIMITED: the tenth wrong one within 15 minutes was the last for 15, on each way that asks for it', async () => {
    const person = await newOwner(server);
    const guess = (nth: number, current_password: string) => {
      const asked = [
        () => change(person, { current_password, new_password: NEW }),
        () =>
          server.api('POST', '/v1/auth/me/email/start', {
            jwt: person.jwt,
            body: { current_password, new_email: newEmail() },
          }),
        () => server.api('DELETE', '/v1/auth/me/account', { jwt: person.jwt, body: { current_password } }),
      ];
      return asked[nth % asked.length]!();
    };
    for (let nth = 0; nth < 10; nth += 1) refused(await guess(nth, 'wrong'), 401, 'INVALID_CURRENT_PASSWORD');
    for (let nth = 0; nth < 3; nth += 1) {
      refused(await guess(nth, 'wrong'), 429, 'RATE_LIMITED');
      const right = await guess(nth, person.password);
      refused(right, 429, 'RATE_LIMITED');
      assert.equal(right.headers.get('retry-after'), '900');
    }
    // A thief of the session cannot keep the person from logging in.
    await logIn(server, person.email);
    server.clock.advance(15 * 60_000);
    person.jwt = (await logIn(server, person.email)).body.token;
    assert.equal(
      (await change(person, { current_password: person.password, new_password: NEW })).status,
      200,
    );
  });

  test('429 RATE_LIMITED: of 30 guesses at once no more than ten are told that they were wrong', async () => {
    const person = await newOwner(server);
    const guesses = Array.from({ length: 30 }, () =>
      change(person, { current_password: 'wrong', new_password: NEW }),
    );
    const statuses = (await Promise.all(guesses)).map((answer) => answer.status);
    assert.ok(statuses.every((status) => status === 401 || status === 429 || status === 503));
    assert.ok(statuses.filter((status) => status === 401).length <= 10);
  });

  test('401 without a JWT', async () => {
    refused(await server.api('PATCH', '/v1/auth/me/password', { body: {} }), 401, 'UNAUTHORIZED');
  });
});

function cookies(setCookies: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(setCookies).map(([name, line]) => [name, line.slice(name.length + 1, line.indexOf(';'))]),
  );
}
