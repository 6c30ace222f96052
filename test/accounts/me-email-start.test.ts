import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { codeIn } from './support/mailbox.ts';
import { logIn, newEmail, newOwner, type Person } from './support/people.ts';

describe('POST /v1/auth/me/email/start', () => {
  let server: AccountServer;
  let person: Person;
  before(async () => {
    server = await startAccountServer();
    person = await newOwner(server);
  });
  after(() => server.close());

  const start = (new_email: unknown, current_password: unknown = person.password) =>
    server.api('POST', '/v1/auth/me/email/start', { jwt: person.jwt, body: { new_email, current_password } });

  test('202: a code to the new address, and to the old one a notice that names neither', async () => {
    const next = newEmail();
    const answer = await start(next.toUpperCase());
    assert.equal(answer.status, 202);
    assert.equal(answer.body.expires_in, 1800);
    assert.deepEqual(Object.keys(answer.body).sort(), ['expires_in', 'message']);
    const code = codeIn(await server.lastMail(next));
    const notice = await server.lastMail(person.email);
    assert.match(notice.subject, /about to change/);
    assert.ok(!notice.text.includes(code) && !notice.text.includes(next) && !notice.html.includes(code));
  });

  test('202: a second start overwrites the first', async () => {
    const [first, second] = [newEmail(), newEmail()];
    await start(first);
    const old = codeIn(await server.lastMail(first));
    await start(second);
    const code = codeIn(await server.lastMail(second));
    const confirm = (typed: string) =>
      server.api('POST', '/v1/auth/me/email/confirm', { jwt: person.jwt, body: { code: typed } });
    if (old !== code) refused(await confirm(old), 400, 'EMAIL_CHANGE_CODE_INVALID');
    assert.equal((await confirm(code)).status, 200);
    person = { ...person, email: second, jwt: (await logIn(server, second)).body.token };
  });

  test('400 BAD_REQUEST: not an address, or the one there is; MISSING_FIELD', async () => {
    refused(await start('nobody'), 400, 'BAD_REQUEST');
    refused(await start(person.email.toUpperCase()), 400, 'BAD_REQUEST');
    refused(await start(undefined), 400, 'MISSING_FIELD');
    refused(await start(newEmail(), ''), 400, 'MISSING_FIELD');
    const broken = await server.api('POST', '/v1/auth/me/email/start', { jwt: person.jwt, rawBody: '{' });
    refused(broken, 400, 'BAD_REQUEST');
  });

  test('401 INVALID_CURRENT_PASSWORD, and no mail goes out', async () => {
    const next = newEmail();
    refused(await start(next, 'wrong'), 401, 'INVALID_CURRENT_PASSWORD');
    assert.deepEqual(await server.mailsTo(next), []);
    refused(await server.api('POST', '/v1/auth/me/email/start', { body: {} }), 401, 'UNAUTHORIZED');
  });

  test('409 EMAIL_ALREADY_TAKEN', async () => {
    const other = await newOwner(server);
    refused(await start(other.email), 409, 'EMAIL_ALREADY_TAKEN');
  });
});
