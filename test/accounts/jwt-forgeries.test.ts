import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, SignJWT } from 'jose';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { newMember, newOwner, type Person } from './support/people.ts';

describe('JWTs that nobody here issued, or that are over', () => {
  let server: AccountServer;
  let owner: Person;
  let claims: ReturnType<typeof decodeJwt>;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server);
    claims = decodeJwt(owner.jwt);
  });
  after(() => server.close());

  const call = (jwt: string) => server.api('GET', '/v1/tokens', { jwt });
  const key = () => new TextEncoder().encode(server.config.JWT_SECRET);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const sign = (
    change: Record<string, unknown>,
    secret = key(),
    header: Record<string, unknown> = { alg: 'HS256' },
  ) => new SignJWT({ ...claims, ...change }).setProtectedHeader(header as { alg: string }).sign(secret);
  const parts = () => owner.jwt.split('.') as [string, string, string];

  test('the forger’s tools make a good one when everything is right', async () => {
    assert.equal((await call(await sign({}))).status, 200);
  });

  const forgeries: Record<string, () => Promise<string> | string> = {
    'alg none, without a signature': () => `${encode({ alg: 'none' })}.${parts()[1]}.`,
    'alg None, with the old signature': () => `${encode({ alg: 'None' })}.${parts()[1]}.${parts()[2]}`,
    'another key': () => sign({}, new TextEncoder().encode('another secret of thirty-two bytes or more')),
    'an empty key': () =>
      `${parts()[0]}.${parts()[1]}.${createHmac('sha256', '').update(`${parts()[0]}.${parts()[1]}`).digest('base64url')}`,
    'HS512 under the right key': () => sign({}, key(), { alg: 'HS512' }),
    'another issuer': () => sign({ iss: 'https://evil.example.test' }),
    'no issuer': () => sign({ iss: undefined }),
    'no expiry': () => sign({ exp: undefined }),
    'no jti': () => sign({ jti: undefined }),
    'not valid yet': () => sign({ nbf: Math.floor(server.clock.now().getTime() / 1000) + 600 }),
    'claims of a wrong type': () => sign({ user_id: String(claims.user_id) }),
    'claims without the password’s time': () => sign({ pwd_changed_at: undefined }),
    'a payload that was changed': () =>
      `${parts()[0]}.${encode({ ...claims, role: 'superadmin' })}.${parts()[2]}`,
    'a signature cut short': () => owner.jwt.slice(0, -4),
    'a signature of another token': async () =>
      `${parts()[0]}.${parts()[1]}.${(await sign({ jti: 'x' })).split('.')[2]}`,
    'no JWT at all': () => 'gibberish',
    'three dots': () => '...',
    'an unknown user': () => sign({ user_id: 99_999_999 }),
    'a critical header we do not know': () =>
      `${encode({ alg: 'HS256', crit: ['x'], x: 1 })}.${parts()[1]}.${parts()[2]}`,
  };
  for (const [what, forge] of Object.entries(forgeries))
    test(`401 TOKEN_INVALID: ${what}`, async () => {
      refused(await call(await forge()), 401, 'TOKEN_INVALID');
    });

  test('401 TOKEN_INVALID: RS256, with our secret taken for a public key', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwt = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey);
    refused(await call(jwt), 401, 'TOKEN_INVALID');
  });

  test('a user of one company with the claim of another is nobody', async () => {
    const other = await newOwner(server);
    refused(await call(await sign({ company_id: other.companyId })), 401, 'TOKEN_INVALID');
  });

  test('a claimed role gives nothing: it is read from the user, not from the token', async () => {
    const agent = await newMember(server, owner, 'agent');
    const own = decodeJwt(agent.jwt);
    for (const change of [{ role: 'owner' }, { role: 'superadmin', is_superadmin: true }]) {
      const jwt = await sign({ ...own, ...change });
      refused(await call(jwt), 403, 'INSUFFICIENT_PERMISSIONS');
      refused(await server.api('GET', '/v1/admin/companies', { jwt }), 403, 'SUPERADMIN_REQUIRED');
    }
  });

  test('403 FORBIDDEN: the company is not there any more', async () => {
    const gone = await newOwner(server);
    await server.db.query('DELETE FROM companies WHERE id = $1', [gone.companyId]);
    const answer = await call(gone.jwt);
    refused(answer, 403, 'FORBIDDEN');
    assert.equal(answer.body.message, 'company not found');
  });

  test('401 TOKEN_EXPIRED: fifteen minutes on, not one second before, cached or not', async () => {
    const person = await newOwner(server);
    assert.equal((await call(person.jwt)).status, 200);
    server.clock.advance(15 * 60_000 - 1_000);
    assert.equal((await call(person.jwt)).status, 200);
    server.clock.advance(1_000);
    refused(await call(person.jwt), 401, 'TOKEN_EXPIRED');
  });

  test('401: after logout and after a reset of the password', async () => {
    const person = await newOwner(server);
    await call(person.jwt);
    await server.api('POST', '/v1/auth/logout', { jwt: person.jwt });
    refused(await call(person.jwt), 401, 'TOKEN_INVALID');
  });

  test('401 UNAUTHORIZED with nothing; TOKEN_INVALID for another scheme', async () => {
    const nothing = await server.api('GET', '/v1/tokens');
    refused(nothing, 401, 'UNAUTHORIZED');
    assert.match(nothing.body.message, /an API key in the header X-API-Key/);
    refused(
      await server.api('GET', '/v1/tokens', { headers: { authorization: 'Basic eDp5' } }),
      401,
      'TOKEN_INVALID',
    );
    refused(
      await server.api('GET', '/v1/tokens', { headers: { authorization: 'Bearer ' } }),
      401,
      'TOKEN_INVALID',
    );
  });
});
