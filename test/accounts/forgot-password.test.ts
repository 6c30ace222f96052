import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type ApiAnswer, refused } from './support/api-client.ts';
import { linkTokenIn } from './support/mailbox.ts';
import { newEmail, newOwner, register } from './support/people.ts';

describe('POST /v1/auth/forgot-password', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer({ FRONTEND_URL: 'https://console.example.test' });
  });
  after(() => server.close());

  const forgot = (email: unknown) => server.api('POST', '/v1/auth/forgot-password', { body: { email } });
  const links = async (companyId: number) =>
    (
      await server.db.query<{ row: string }>(
        'SELECT l::text AS row FROM password_links l WHERE company_id = $1',
        [companyId],
      )
    ).rows;

  test('202: whether or not the account exists, in the same bytes', async () => {
    const email = newEmail();
    await register(server, email);
    const shape = (answer: ApiAnswer) => ({ status: answer.status, text: answer.text });
    const known = await forgot(email);
    assert.equal(known.status, 202);
    assert.deepEqual(Object.keys(known.body), ['message']);
    assert.deepEqual(shape(await forgot(newEmail())), shape(known));
    assert.deepEqual(shape(await forgot('not an address')), shape(known));
  });

  test('202: an existing user gets a link, and only the hash of its token is stored', async () => {
    const owner = await newOwner(server);
    await forgot(owner.email.toUpperCase());
    const mail = await server.lastMail(owner.email);
    const token = linkTokenIn(mail);
    assert.ok(mail.text.includes(`https://console.example.test/reset-password?token=${token}`));
    assert.ok(mail.html.includes(token));
    assert.match(mail.text, /30 minutes/);
    const rows = await links(owner.companyId);
    assert.equal(rows.length, 1);
    assert.ok(!rows[0]!.row.includes(token));
  });

  test('202: nobody and deleted accounts get no mail', async () => {
    const nobody = newEmail();
    await forgot(nobody);
    assert.deepEqual(await server.mailsTo(nobody), []);
    const owner = await newOwner(server);
    await server.db.query(`UPDATE companies SET status = 'deleted' WHERE id = $1`, [owner.companyId]);
    const before = (await server.mailsTo(owner.email)).length;
    await forgot(owner.email);
    assert.equal((await server.mailsTo(owner.email)).length, before);
  });

  test('202: asking without end opens five links at most, until they lapse', async () => {
    const owner = await newOwner(server);
    for (let i = 0; i < 8; i++) await forgot(owner.email);
    await server.mailsTo(owner.email);
    assert.equal((await links(owner.companyId)).length, 5);
    server.clock.advance(30 * 60_000);
    await forgot(owner.email);
    await server.mailsTo(owner.email);
    assert.equal((await links(owner.companyId)).length, 6);
  });

  test('400 INVALID_JSON and MISSING_FIELD', async () => {
    refused(await server.api('POST', '/v1/auth/forgot-password', { rawBody: '[' }), 400, 'INVALID_JSON');
    refused(await forgot(undefined), 400, 'MISSING_FIELD');
    refused(await forgot(''), 400, 'MISSING_FIELD');
  });

  test('500 INTERNAL_ERROR when the request cannot be recorded', async () => {
    await server.db.query('ALTER TABLE mails ADD CONSTRAINT broken CHECK (false) NOT VALID');
    const answer = await forgot(newEmail());
    await server.db.query('ALTER TABLE mails DROP CONSTRAINT broken');
    refused(answer, 500, 'INTERNAL_ERROR');
  });
});
