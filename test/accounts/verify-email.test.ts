import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { codeIn } from './support/mailbox.ts';
import { newOwner, type Person } from './support/people.ts';

describe('POST /v1/auth/verify-email', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const verify = (person: Person, code: unknown) =>
    server.api('POST', '/v1/auth/verify-email', { jwt: person.jwt, body: { code } });
  const codeOf = async (person: Person) => codeIn(await server.lastMail(person.email));
  const wrong = (code: string) => String((Number(code) + 1) % 1_000_000).padStart(6, '0');

  test('200: a session with a verified e-mail, with cookies; the old JWT shows it too', async () => {
    const person = await newOwner(server, { verified: false });
    refused(await server.api('POST', '/v1/tokens', { jwt: person.jwt, body: {} }), 403, 'EMAIL_NOT_VERIFIED');
    const answer = await verify(person, await codeOf(person));
    assert.equal(answer.status, 200);
    assert.equal(answer.body.email_verified, true);
    assert.equal(answer.body.user_id, person.userId);
    assert.ok(answer.setCookies.svc_refresh_token && answer.setCookies.svc_csrf_token);
    for (const jwt of [answer.body.token, person.jwt])
      assert.equal((await server.api('POST', '/v1/tokens', { jwt, body: {} })).status, 201);
    assert.equal((await server.api('POST', '/v1/tokens', { key: person.key, body: {} })).status, 201);
  });

  test('403 EMAIL_NOT_VERIFIED until then: instances, keys and webhooks, by JWT and by key', async () => {
    const person = await newOwner(server, { verified: false });
    const url = 'https://hooks.example.test/';
    for (const who of [{ jwt: person.jwt }, { key: person.key }]) {
      for (const [path, body] of [
        ['/v1/instances', { name: 'first' }],
        ['/v1/tokens', {}],
        ['/v1/webhooks', { url }],
      ] as const)
        refused(await server.api('POST', path, { ...who, body }), 403, 'EMAIL_NOT_VERIFIED');
      assert.equal((await server.api('GET', '/v1/instances', who)).status, 200);
    }
  });

  test('400 EMAIL_VERIFICATION_CODE_INVALID: a mismatch or a wrong form, each counted; the right one still works', async () => {
    const person = await newOwner(server, { verified: false });
    const code = await codeOf(person);
    for (const typed of [wrong(code), '12345', '', 'abcdef'])
      refused(await verify(person, typed), 400, 'EMAIL_VERIFICATION_CODE_INVALID');
    assert.equal((await verify(person, code)).status, 200);
  });

  test('429 EMAIL_VERIFICATION_MAX_ATTEMPTS at the fifth wrong one, which voids the code', async () => {
    const person = await newOwner(server, { verified: false });
    const code = await codeOf(person);
    for (let i = 0; i < 4; i++)
      refused(await verify(person, wrong(code)), 400, 'EMAIL_VERIFICATION_CODE_INVALID');
    refused(await verify(person, wrong(code)), 429, 'EMAIL_VERIFICATION_MAX_ATTEMPTS');
    refused(await verify(person, code), 400, 'EMAIL_VERIFICATION_CODE_EXPIRED');
    await server.api('POST', '/v1/auth/verify-email/resend', { jwt: person.jwt });
    assert.equal((await verify(person, await codeOf(person))).status, 200);
  });

  test('five of 40 simultaneous guesses count, and the right one among the rest comes too late', async () => {
    const person = await newOwner(server, { verified: false });
    const code = await codeOf(person);
    const answers = await Promise.all(Array.from({ length: 40 }, () => verify(person, wrong(code))));
    const codes = answers.map((answer) => answer.body.error_code);
    assert.equal(codes.filter((each) => each === 'EMAIL_VERIFICATION_CODE_INVALID').length, 4);
    assert.equal(codes.filter((each) => each === 'EMAIL_VERIFICATION_MAX_ATTEMPTS').length, 1);
    refused(await verify(person, code), 400, 'EMAIL_VERIFICATION_CODE_EXPIRED');
  });

  test('400 EMAIL_VERIFICATION_CODE_EXPIRED after 30 minutes', async () => {
    let person = await newOwner(server, { verified: false });
    const code = await codeOf(person);
    server.clock.advance(30 * 60_000);
    const session = await server.api('POST', '/v1/auth/refresh', {
      cookies: person.cookies,
      csrf: person.csrf,
    });
    person = { ...person, jwt: session.body.token };
    refused(await verify(person, code), 400, 'EMAIL_VERIFICATION_CODE_EXPIRED');
  });

  test("another user's code is a wrong one", async () => {
    const [one, other] = [
      await newOwner(server, { verified: false }),
      await newOwner(server, { verified: false }),
    ];
    const code = await codeOf(other);
    if (code !== (await codeOf(one)))
      refused(await verify(one, code), 400, 'EMAIL_VERIFICATION_CODE_INVALID');
    assert.equal((await verify(other, code)).status, 200);
  });

  test('409 EMAIL_ALREADY_VERIFIED', async () => {
    refused(await verify(await newOwner(server), '000000'), 409, 'EMAIL_ALREADY_VERIFIED');
  });

  test('400 EMAIL_VERIFICATION_CODE_INVALID: a text that is no code at all counts as a wrong one', async () => {
    const person = await newOwner(server, { verified: false });
    const code = await codeOf(person);
    const raw = (rawBody: string, headers = {}) =>
      server.api('POST', '/v1/auth/verify-email', { jwt: person.jwt, rawBody, headers });
    const invalid = 'EMAIL_VERIFICATION_CODE_INVALID';
    refused(await verify(person, undefined), 400, invalid);
    refused(await verify(person, Number(code)), 400, invalid);
    refused(await raw('{'), 400, invalid);
    refused(await raw(code, { 'content-type': 'text/plain' }), 400, invalid);
    refused(await verify(person, 'x'.repeat(1000)), 429, 'EMAIL_VERIFICATION_MAX_ATTEMPTS');
    refused(await verify(person, code), 400, 'EMAIL_VERIFICATION_CODE_EXPIRED');
  });

  test('401 without a JWT, a key being none', async () => {
    const person = await newOwner(server, { verified: false });
    const path = '/v1/auth/verify-email';
    refused(await server.api('POST', path, { body: { code: '000000' } }), 401, 'UNAUTHORIZED');
    refused(
      await server.api('POST', path, { key: person.key, body: { code: '000000' } }),
      401,
      'UNAUTHORIZED',
    );
  });

  test('403 CSRF_INVALID: a browser has to send the CSRF header', async () => {
    const person = await newOwner(server, { verified: false });
    const code = await codeOf(person);
    const request = { jwt: person.jwt, cookies: person.cookies, body: { code } };
    refused(await server.api('POST', '/v1/auth/verify-email', request), 403, 'CSRF_INVALID');
    const answer = await server.api('POST', '/v1/auth/verify-email', { ...request, csrf: person.csrf });
    assert.equal(answer.status, 200);
  });
});
