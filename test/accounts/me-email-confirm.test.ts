import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { codeIn, linkTokenIn } from './support/mailbox.ts';
import { logIn, newEmail, newOwner, type Person, register } from './support/people.ts';

describe('POST /v1/auth/me/email/confirm', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const confirm = (person: Person, code: unknown) =>
    server.api('POST', '/v1/auth/me/email/confirm', { jwt: person.jwt, body: { code } });
  async function start(person: Person, next = newEmail()): Promise<{ next: string; code: string }> {
    const answer = await server.api('POST', '/v1/auth/me/email/start', {
      jwt: person.jwt,
      body: { new_email: next, current_password: person.password },
    });
    assert.equal(answer.status, 202, answer.text);
    return { next, code: codeIn(await server.lastMail(next)) };
  }
  const wrong = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

  test('200: the e-mail is another, refresh tokens and open reset links end, and the slate is clean', async () => {
    const person = await newOwner(server);
    await server.api('POST', '/v1/auth/forgot-password', { body: { email: person.email } });
    const link = linkTokenIn(await server.lastMail(person.email));
    const { next, code } = await start(person);
    const answer = await confirm(person, code);
    assert.equal(answer.status, 200);
    assert.equal(answer.body.requires_relogin, true);
    const session = await logIn(server, next);
    assert.equal(session.body.email, next);
    const old = { email: person.email, password: person.password };
    refused(await server.api('POST', '/v1/auth/login', { body: old }), 401, 'INVALID_CREDENTIALS');
    refused(
      await server.api('POST', '/v1/auth/refresh', { cookies: person.cookies, csrf: person.csrf }),
      401,
      'REFRESH_FAILED',
    );
    const reset = { token: link, password: 'x'.repeat(12) };
    refused(await server.api('POST', '/v1/auth/reset-password', { body: reset }), 400, 'RESET_TOKEN_INVALID');
    refused(await confirm(person, code), 401, 'TOKEN_INVALID');
    const again = { ...person, jwt: session.body.token };
    refused(await confirm(again, code), 404, 'EMAIL_CHANGE_NOT_FOUND');
  });

  test('200: the new address counts as verified', async () => {
    const person = await newOwner(server, { verified: false });
    const { next, code } = await start(person);
    await confirm(person, code);
    const { body } = await logIn(server, next);
    assert.equal((await server.api('POST', '/v1/tokens', { jwt: body.token, body: {} })).status, 201);
  });

  test('400 EMAIL_CHANGE_CODE_INVALID until the fifth, which is 429 EMAIL_CHANGE_LOCKED and destroys it', async () => {
    const person = await newOwner(server);
    const { code } = await start(person);
    for (const typed of [wrong(code), '', 'abc', '1234567'])
      refused(await confirm(person, typed), 400, 'EMAIL_CHANGE_CODE_INVALID');
    refused(await confirm(person, wrong(code)), 429, 'EMAIL_CHANGE_LOCKED');
    refused(await confirm(person, code), 404, 'EMAIL_CHANGE_NOT_FOUND');
  });

  test('404 EMAIL_CHANGE_NOT_FOUND: none pending, or older than 30 minutes', async () => {
    const person = await newOwner(server);
    refused(await confirm(person, '000000'), 404, 'EMAIL_CHANGE_NOT_FOUND');
    const { code } = await start(person);
    server.clock.advance(30 * 60_000);
    const again = { ...person, jwt: (await logIn(server, person.email)).body.token };
    refused(await confirm(again, code), 404, 'EMAIL_CHANGE_NOT_FOUND');
  });

  test('409 EMAIL_ALREADY_TAKEN: somebody registered the address in the meantime', async () => {
    const person = await newOwner(server);
    const { next, code } = await start(person);
    await register(server, next);
    refused(await confirm(person, code), 409, 'EMAIL_ALREADY_TAKEN');
    await logIn(server, person.email);
  });

  test('404 EMAIL_CHANGE_NOT_FOUND when no change is pending, for any code', async () => {
    const person = await newOwner(server);
    for (const typed of ['000000', '', 'abc', '1234567', undefined, null, 123456, {}, ['000000']])
      refused(await confirm(person, typed), 404, 'EMAIL_CHANGE_NOT_FOUND');
    const path = '/v1/auth/me/email/confirm';
    for (const rawBody of ['{', '', 'null', '[]'])
      refused(await server.api('POST', path, { jwt: person.jwt, rawBody }), 404, 'EMAIL_CHANGE_NOT_FOUND');
  });

  test('400 EMAIL_CHANGE_CODE_INVALID: no code at all; 401 UNAUTHORIZED', async () => {
    const person = await newOwner(server);
    const path = '/v1/auth/me/email/confirm';
    const { code } = await start(person);
    for (const typed of [undefined, Number(code), null, [code]])
      refused(await confirm(person, typed), 400, 'EMAIL_CHANGE_CODE_INVALID');
    refused(await confirm(person, {}), 429, 'EMAIL_CHANGE_LOCKED');
    refused(await confirm(person, code), 404, 'EMAIL_CHANGE_NOT_FOUND');
    refused(await server.api('POST', path, { body: { code: '000000' } }), 401, 'UNAUTHORIZED');
  });
});
