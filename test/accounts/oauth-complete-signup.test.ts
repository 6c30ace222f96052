import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { refused } from './support/api-client.ts';
import {
  begin,
  CONSOLE,
  comeBack,
  googlePerson,
  loginWithGoogle,
  type OAuthSetup,
  type Person,
  sentTo,
  startOAuth,
} from './support/oauth.ts';
import { newCompanyName, newOwner, register } from './support/people.ts';

describe('POST /v1/auth/oauth/complete-signup', () => {
  let setup: OAuthSetup;
  before(async () => {
    setup = await startOAuth();
  });
  after(() => setup.close());

  const pending = async (person: Person = googlePerson()) =>
    sentTo(await loginWithGoogle(setup, person), '/oauth/complete', { provider: 'google' }).get('token')!;
  const complete = (token: unknown, company_name: unknown = newCompanyName()) =>
    setup.server.api('POST', '/v1/auth/oauth/complete-signup', { body: { token, company_name } });

  test('200: company, owner and link at once, with a session and its cookies', async () => {
    const person = googlePerson();
    const answer = await complete(await pending(person), 'Gabi & Co.');
    assert.equal(answer.status, 200, answer.text);
    const { token, company_id, user_id, ...rest } = answer.body;
    assert.deepEqual(rest, {
      role: 'owner',
      email: person.email,
      name: 'Gabi',
      is_superadmin: false,
      email_verified: true,
    });
    assert.ok(answer.setCookies.svc_refresh_token && answer.setCookies.svc_csrf_token);
    const profile = await setup.server.api('PATCH', '/v1/auth/me', { jwt: token, body: {} });
    assert.deepEqual(profile.body.company, { id: company_id, name: 'Gabi & Co.', slug: 'gabi-co' });
    const made = await setup.server.api('POST', '/v1/instances', { jwt: token, body: { name: 'first' } });
    assert.equal(made.status, 201, made.text);
    const login = { email: person.email, password: 'whatever it is' };
    refused(await setup.server.api('POST', '/v1/auth/login', { body: login }), 401, 'INVALID_CREDENTIALS');
  });

  test('400 OAUTH_PENDING_INVALID: unknown, used, or older than 15 minutes', async () => {
    refused(await complete('unknown'), 400, 'OAUTH_PENDING_INVALID');
    const used = await pending();
    assert.equal((await complete(used)).status, 200);
    refused(await complete(used), 400, 'OAUTH_PENDING_INVALID');
    const late = await pending();
    setup.server.clock.advance(15 * 60_000);
    refused(await complete(late), 400, 'OAUTH_PENDING_INVALID');
  });

  test('400 OAUTH_PENDING_INVALID: the link of somebody who began elsewhere makes them the owner of nobody’s company', async () => {
    const begun = await begin(setup, 'google');
    const back = await comeBack(
      setup,
      await setup.openid.authorize(begun.url, googlePerson()),
      begun.cookies,
    );
    const token = sentTo(back, '/oauth/complete', { provider: 'google' }).get('token')!;
    /** As the page of a browser asks. */
    const completeIn = (cookies: Record<string, string>) =>
      setup.server.api('POST', '/v1/auth/oauth/complete-signup', {
        body: { token, company_name: newCompanyName() },
        headers: { origin: CONSOLE },
        cookies,
      });
    refused(await completeIn({}), 400, 'OAUTH_PENDING_INVALID');
    const other = await begin(setup, 'google');
    refused(await completeIn(other.cookies), 400, 'OAUTH_PENDING_INVALID');
    const answer = await completeIn(begun.cookies);
    assert.equal(answer.status, 200, answer.text);
  });

  test('one of ten simultaneous completions signs up', async () => {
    const token = await pending();
    const answers = await Promise.all(Array.from({ length: 10 }, () => complete(token)));
    assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) refused(answer, 400, 'OAUTH_PENDING_INVALID');
  });

  test('two pending tokens of one person make one company', async () => {
    const person = googlePerson();
    const tokens = [await pending(person), await pending(person)];
    assert.equal((await complete(tokens[0])).status, 200);
    refused(await complete(tokens[1]), 409, 'EMAIL_ALREADY_REGISTERED');
  });

  test('409 CONFLICT: a taken name leaves the token good for another one', async () => {
    const owner = await newOwner(setup.server);
    const { body } = await setup.server.api('PATCH', '/v1/auth/me', { jwt: owner.jwt, body: {} });
    const token = await pending();
    refused(await complete(token, body.company.name), 409, 'CONFLICT');
    assert.equal((await complete(token)).status, 200);
  });

  test('409 EMAIL_ALREADY_REGISTERED: somebody registered it in the meantime', async () => {
    const person = googlePerson();
    const token = await pending(person);
    await register(setup.server, person.email);
    refused(await complete(token), 409, 'EMAIL_ALREADY_REGISTERED');
  });

  test('400 BAD_REQUEST and OAUTH_PENDING_INVALID, none of which spends the token', async () => {
    const token = await pending();
    refused(await complete(token, '<>'), 400, 'BAD_REQUEST');
    refused(await complete(token, ''), 400, 'BAD_REQUEST');
    refused(await complete(undefined), 400, 'OAUTH_PENDING_INVALID');
    refused(
      await setup.server.api('POST', '/v1/auth/oauth/complete-signup', { rawBody: '{' }),
      400,
      'BAD_REQUEST',
    );
    assert.equal((await complete(token)).status, 200);
  });

  test('500 REGISTRATION_FAILED: nothing is left of it, and the token is still good', async () => {
    const token = await pending();
    await setup.server.db.query('ALTER TABLE oauth_identities ADD CONSTRAINT broken CHECK (false) NOT VALID');
    const answer = await complete(token);
    await setup.server.db.query('ALTER TABLE oauth_identities DROP CONSTRAINT broken');
    refused(answer, 500, 'REGISTRATION_FAILED');
    assert.equal((await complete(token)).status, 200);
  });
});
