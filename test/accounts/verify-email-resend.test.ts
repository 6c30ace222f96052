import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { codeIn } from './support/mailbox.ts';
import { newOwner, type Person } from './support/people.ts';

describe('POST /v1/auth/verify-email/resend', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const resend = (person: Person) => server.api('POST', '/v1/auth/verify-email/resend', { jwt: person.jwt });

  test('202: a new code, which replaces the earlier one', async () => {
    const person = await newOwner(server, { verified: false });
    const first = codeIn(await server.lastMail(person.email));
    const answer = await resend(person);
    assert.equal(answer.status, 202);
    assert.equal(answer.body.cooldown_secs, 60);
    assert.equal(answer.body.expires_in, 1800);
    assert.ok(answer.body.message);
    const mails = await server.mailsTo(person.email);
    assert.equal(mails.length, 2);
    const second = codeIn(mails[1]!);
    const verify = (code: string) =>
      server.api('POST', '/v1/auth/verify-email', { jwt: person.jwt, body: { code } });
    if (first !== second) refused(await verify(first), 400, 'EMAIL_VERIFICATION_CODE_INVALID');
    assert.equal((await verify(second)).status, 200);
  });

  test('429 EMAIL_VERIFICATION_RESEND_COOLDOWN for 60 s, with Retry-After', async () => {
    const person = await newOwner(server, { verified: false });
    assert.equal((await resend(person)).status, 202);
    const answer = await resend(person);
    refused(answer, 429, 'EMAIL_VERIFICATION_RESEND_COOLDOWN');
    assert.equal(answer.headers.get('retry-after'), '60');
    server.clock.advance(59_000);
    assert.equal((await resend(person)).headers.get('retry-after'), '1');
    server.clock.advance(1_000);
    assert.equal((await resend(person)).status, 202);
  });

  test('202 once, however many ask at once', async () => {
    const person = await newOwner(server, { verified: false });
    const answers = await Promise.all(Array.from({ length: 10 }, () => resend(person)));
    assert.equal(answers.filter((answer) => answer.status === 202).length, 1);
    assert.equal((await server.mailsTo(person.email)).length, 2);
  });

  test('409 EMAIL_ALREADY_VERIFIED; 401 UNAUTHORIZED', async () => {
    refused(await resend(await newOwner(server)), 409, 'EMAIL_ALREADY_VERIFIED');
    refused(await server.api('POST', '/v1/auth/verify-email/resend'), 401, 'UNAUTHORIZED');
  });
});
