import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { logIn, newEmail } from './support/people.ts';

describe('POST /v1/auth/quick-register', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer({ PUBLIC_URL: 'https://api.example.test' });
  });
  after(() => server.close());

  const quick = (email: unknown) => server.api('POST', '/v1/auth/quick-register', { body: { email } });

  test('201: a key, and a generated password of 16 hex characters that is also mailed', async () => {
    const email = newEmail();
    const answer = await quick(email);
    assert.equal(answer.status, 201);
    assert.deepEqual(Object.keys(answer.body).sort(), [
      'api_key',
      'base_url',
      'company_id',
      'email',
      'message',
      'password',
    ]);
    assert.match(answer.body.api_key, /^svc_[0-9a-f]{64}$/);
    assert.match(answer.body.password, /^[0-9a-f]{16}$/);
    assert.equal(answer.body.email, email);
    assert.equal(answer.body.base_url, 'https://api.example.test');
    const mail = await server.lastMail(email);
    assert.ok(mail.text.includes(answer.body.password));
    assert.ok(mail.html.includes(answer.body.password));
    const session = await logIn(server, email, answer.body.password);
    assert.equal(session.body.email_verified, true);
    assert.equal(session.body.role, 'owner');
  });

  test('201: the e-mail counts as verified, so the key may create instances and keys at once', async () => {
    const { body } = await quick(newEmail());
    assert.equal((await server.api('POST', '/v1/tokens', { key: body.api_key, body: {} })).status, 201);
    const instance = await server.api('POST', '/v1/instances', {
      key: body.api_key,
      body: { name: 'first' },
    });
    assert.equal(instance.status, 201, instance.text);
  });

  test('201: two mailboxes of one name become two companies', async () => {
    const first = await quick('info@one.example.test');
    const second = await quick('info@two.example.test');
    assert.deepEqual([first.status, second.status], [201, 201]);
    assert.notEqual(first.body.company_id, second.body.company_id);
    assert.equal((await quick('+@three.example.test')).status, 201);
  });

  test('400 INVALID_JSON and BAD_REQUEST', async () => {
    refused(await server.api('POST', '/v1/auth/quick-register', { rawBody: '{' }), 400, 'INVALID_JSON');
    refused(await quick(undefined), 400, 'BAD_REQUEST');
    refused(await quick('nobody'), 400, 'BAD_REQUEST');
    refused(await quick(5), 400, 'BAD_REQUEST');
  });

  test('409 EMAIL_ALREADY_REGISTERED', async () => {
    const email = newEmail();
    await quick(email);
    refused(await quick(email.toUpperCase()), 409, 'EMAIL_ALREADY_REGISTERED');
  });

  test('500 INTERNAL_ERROR: nothing is left of a registration that broke half way', async () => {
    const email = newEmail();
    await server.db.query('ALTER TABLE api_tokens ADD CONSTRAINT broken CHECK (false) NOT VALID');
    const answer = await quick(email);
    await server.db.query('ALTER TABLE api_tokens DROP CONSTRAINT broken');
    refused(answer, 500, 'INTERNAL_ERROR');
    assert.equal((await quick(email)).status, 201);
  });
});
