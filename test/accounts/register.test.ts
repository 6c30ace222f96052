import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { askUntilServed } from '../support/ask-until-served.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { codeIn } from './support/mailbox.ts';
import { newCompanyName, newEmail, PASSWORD } from './support/people.ts';

describe('POST /v1/auth/register', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const body = (change: Record<string, unknown> = {}) => ({
    company_name: newCompanyName(),
    owner_email: newEmail(),
    owner_name: 'Olivia',
    password: PASSWORD,
    ...change,
  });
  const register = (change?: Record<string, unknown>) =>
    server.api('POST', '/v1/auth/register', { body: body(change) });

  test('201: a company, its owner and a first API key that works at once', async () => {
    const answer = await register({ company_name: 'Açaí & Filhos (São Paulo)' });
    assert.equal(answer.status, 201);
    const { token, api_token, token_id, last4, slug, company_id, message, ...rest } = answer.body;
    assert.deepEqual(rest, { email_verification_required: true });
    assert.match(token, /^svc_[0-9a-f]{64}$/);
    assert.equal(api_token, token);
    assert.equal(last4, token.slice(-4));
    assert.equal(slug, 'acai-filhos-sao-paulo');
    assert.equal(typeof company_id, 'number');
    assert.equal(typeof token_id, 'number');
    assert.ok(message.length > 0);
    const tokens = await server.api('GET', '/v1/tokens', { key: token });
    assert.equal(tokens.status, 200);
    assert.equal(tokens.body.data[0].id, token_id);
  });

  test('201: of the key only its SHA-256 is kept, of the password only an argon2id hash', async () => {
    const { token, token_id, company_id } = (await register()).body;
    const { rows } = await server.db.query<{ key_hash: Buffer; row: string }>(
      'SELECT key_hash, t::text AS row FROM api_tokens t WHERE id = $1',
      [token_id],
    );
    assert.deepEqual(rows[0]!.key_hash, createHash('sha256').update(token).digest());
    assert.ok(!rows[0]!.row.includes(token.slice(4)));
    const users = await server.db.query<{ password_hash: string }>(
      'SELECT password_hash FROM users WHERE company_id = $1',
      [company_id],
    );
    assert.match(users.rows[0]!.password_hash, /^\$argon2id\$/);
  });

  test('201: a verification code is mailed, as text and HTML, and is stored nowhere in the clear', async () => {
    const email = newEmail();
    await register({ owner_email: email, owner_name: '<b>Olivia</b>' });
    const sealed = await server.db.query<{ row: string }>('SELECT m::text AS row FROM mails m');
    const mail = await server.lastMail(email);
    const code = codeIn(mail);
    assert.match(mail.html, new RegExp(code));
    assert.ok(mail.html.includes('&#60;b&#62;Olivia'), 'names are escaped');
    assert.ok(!sealed.rows.some(({ row }) => row.includes(code) || row.includes(email)));
    const { rows } = await server.db.query('SELECT 1 FROM mails');
    assert.equal(rows.length, 0, 'a sent mail leaves nothing behind');
  });

  test('201: the e-mail is trimmed and lower-cased; a name without Latin letters still has a slug', async () => {
    const email = newEmail();
    const answer = await register({ owner_email: `  ${email.toUpperCase()} `, company_name: '株式会社' });
    assert.equal(answer.status, 201);
    assert.match(answer.body.slug, /^company-[0-9a-f]{10}$/);
    refused(await register({ owner_email: email }), 409, 'EMAIL_ALREADY_REGISTERED');
  });

  test('400 INVALID_JSON', async () => {
    refused(
      await server.api('POST', '/v1/auth/register', { rawBody: '{"company_name":' }),
      400,
      'INVALID_JSON',
    );
  });

  for (const field of ['company_name', 'owner_email', 'owner_name', 'password'])
    test(`400 MISSING_FIELD: ${field} absent or empty`, async () => {
      refused(await register({ [field]: undefined }), 400, 'MISSING_FIELD');
      const empty = await register({ [field]: '' });
      refused(empty, 400, 'MISSING_FIELD');
      assert.match(empty.body.message, new RegExp(field));
    });

  for (const [what, change] of Object.entries({
    'company_name of forbidden characters': { company_name: 'Bad <Company> {}' },
    'company_name over 255 characters': { company_name: 'x'.repeat(256) },
    'company_name of a wrong type': { company_name: 7 },
    'a bad e-mail': { owner_email: 'nobody.example.test' },
    'a password of 11 characters': { password: 'x'.repeat(11) },
    'a password of 11 characters that count twice in JavaScript': { password: '🦊'.repeat(11) },
    'a password beyond all measure': { password: 'x'.repeat(257) },
  }))
    test(`400 BAD_REQUEST: ${what}`, async () => {
      refused(await register(change), 400, 'BAD_REQUEST');
    });

  test('409 CONFLICT: the name or the slug of another company', async () => {
    const name = newCompanyName();
    assert.equal((await register({ company_name: name })).status, 201);
    refused(await register({ company_name: name.toUpperCase() }), 409, 'CONFLICT');
    refused(await register({ company_name: name.replaceAll(' ', '. ') }), 409, 'CONFLICT');
  });

  test('409: of many at once with one e-mail, or one name, exactly one is registered', async () => {
    const email = newEmail();
    const sameEmail = await Promise.all(
      Array.from({ length: 6 }, () => askUntilServed(() => register({ owner_email: email }))),
    );
    assert.deepEqual(sameEmail.map((answer) => answer.status).sort(), [201, 409, 409, 409, 409, 409]);
    const name = newCompanyName();
    const sameName = await Promise.all(
      Array.from({ length: 6 }, () => askUntilServed(() => register({ company_name: name }))),
    );
    assert.deepEqual(sameName.map((answer) => answer.status).sort(), [201, 409, 409, 409, 409, 409]);
    for (const answer of sameName) if (answer.status === 409) refused(answer, 409, 'CONFLICT');
  });

  test('500 REGISTRATION_FAILED: nothing is left of a registration that broke half way', async () => {
    await server.db.query('ALTER TABLE email_codes ADD CONSTRAINT broken CHECK (false) NOT VALID');
    const email = newEmail();
    const answer = await register({ owner_email: email });
    await server.db.query('ALTER TABLE email_codes DROP CONSTRAINT broken');
    refused(answer, 500, 'REGISTRATION_FAILED');
    assert.ok(!answer.text.includes('broken'), 'the cause stays inside');
    assert.equal((await register({ owner_email: email })).status, 201);
  });
});
