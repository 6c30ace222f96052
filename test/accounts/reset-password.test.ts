import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { askUntilServed } from '../support/ask-until-served.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { linkTokenIn } from './support/mailbox.ts';
import { logIn, newOwner, type Person } from './support/people.ts';

const NEW_PASSWORD = 'a wholly new password';

describe('POST /v1/auth/reset-password', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const reset = (token: unknown, password: unknown = NEW_PASSWORD) =>
    server.api('POST', '/v1/auth/reset-password', { body: { token, password } });
  async function newLink(person: Person): Promise<string> {
    await server.api('POST', '/v1/auth/forgot-password', { body: { email: person.email } });
    return linkTokenIn(await server.lastMail(person.email));
  }

  test('200: the new password works, the old one does not, and a notice is mailed', async () => {
    const person = await newOwner(server);
    const answer = await reset(await newLink(person));
    assert.equal(answer.status, 200);
    assert.deepEqual(Object.keys(answer.body), ['message']);
    await logIn(server, person.email, NEW_PASSWORD);
    const old = await server.api('POST', '/v1/auth/login', {
      body: { email: person.email, password: person.password },
    });
    refused(old, 401, 'INVALID_CREDENTIALS');
    assert.match((await server.lastMail(person.email)).subject, /password was changed/);
  });

  test('200: every refresh token ends and every JWT answers PASSWORD_CHANGED; the keys stay', async () => {
    const person = await newOwner(server);
    const token = await newLink(person);
    assert.equal((await server.api('GET', '/v1/users', { jwt: person.jwt })).status, 200);
    await reset(token);
    refused(await server.api('GET', '/v1/users', { jwt: person.jwt }), 401, 'PASSWORD_CHANGED');
    const refreshed = await server.api('POST', '/v1/auth/refresh', {
      cookies: person.cookies,
      csrf: person.csrf,
    });
    refused(refreshed, 401, 'REFRESH_FAILED');
    assert.equal((await server.api('GET', '/v1/tokens', { key: person.key })).status, 200);
  });

  test('400 RESET_TOKEN_INVALID: unknown, used, or superseded by a change of password', async () => {
    refused(await reset('nothing'), 400, 'RESET_TOKEN_INVALID');
    const person = await newOwner(server);
    const [first, second] = [await newLink(person), await newLink(person)];
    assert.equal((await reset(second)).status, 200);
    refused(await reset(second), 400, 'RESET_TOKEN_INVALID');
    refused(await reset(first), 400, 'RESET_TOKEN_INVALID');
  });

  test('400 RESET_TOKEN_INVALID: no such user any more', async () => {
    const owner = await newOwner(server);
    const token = await newLink(owner);
    await server.db.query('DELETE FROM users WHERE id = $1', [owner.userId]);
    refused(await reset(token), 400, 'RESET_TOKEN_INVALID');
  });

  test('one of ten simultaneous uses of a link sets its password', async () => {
    const person = await newOwner(server);
    const token = await newLink(person);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => askUntilServed(() => reset(token, `${NEW_PASSWORD} ${i}`))),
    );
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
    await logIn(
      server,
      person.email,
      `${NEW_PASSWORD} ${answers.findIndex((answer) => answer.status === 200)}`,
    );
  });

  test('400 RESET_TOKEN_EXPIRED after PASSWORD_RESET_TTL', async () => {
    const person = await newOwner(server);
    const token = await newLink(person);
    server.clock.advance(30 * 60_000);
    refused(await reset(token), 400, 'RESET_TOKEN_EXPIRED');
  });

  test('400 BAD_REQUEST: a short password does not spend the link', async () => {
    const person = await newOwner(server);
    const token = await newLink(person);
    refused(await reset(token, 'x'.repeat(11)), 400, 'BAD_REQUEST');
    assert.equal((await reset(token)).status, 200);
  });

  test('400 INVALID_JSON and MISSING_FIELD', async () => {
    refused(await server.api('POST', '/v1/auth/reset-password', { rawBody: '{"a"' }), 400, 'INVALID_JSON');
    refused(await reset(undefined), 400, 'MISSING_FIELD');
    refused(await reset('x', undefined), 400, 'RESET_TOKEN_INVALID');
    refused(await reset('x'.repeat(1000)), 400, 'RESET_TOKEN_INVALID');
    refused(
      await server.api('POST', '/v1/auth/reset-password', { body: { token: 'x' } }),
      400,
      'MISSING_FIELD',
    );
  });

  test('500 INTERNAL_ERROR: a reset that broke half way changed nothing and the link is still good', async () => {
    const person = await newOwner(server);
    const token = await newLink(person);
    await server.db.query('ALTER TABLE audit_log ADD CONSTRAINT broken CHECK (false) NOT VALID');
    const answer = await reset(token);
    await server.db.query('ALTER TABLE audit_log DROP CONSTRAINT broken');
    refused(answer, 500, 'INTERNAL_ERROR');
    await logIn(server, person.email);
    assert.equal((await reset(token)).status, 200);
  });
});
