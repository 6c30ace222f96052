import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { newMember, newOwner, type Person } from './support/people.ts';

describe('/v1/tokens', () => {
  let server: AccountServer;
  let owner: Person;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server);
  });
  after(() => server.close());

  const create = (who: { jwt?: string; key?: string }, body: unknown = { name: 'ci' }) =>
    server.api('POST', '/v1/tokens', { ...who, body });

  test('POST 201: the key is shown this once, works at once and has its maker’s role', async () => {
    const answer = await create({ jwt: owner.jwt });
    assert.equal(answer.status, 201);
    assert.match(answer.body.token, /^svc_[0-9a-f]{64}$/);
    assert.equal(answer.body.last4, answer.body.token.slice(-4));
    assert.equal(answer.body.user_id, owner.userId);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const list = await server.api('GET', '/v1/tokens', { key: answer.body.token });
    assert.equal(list.status, 200);
    const { token, ...shown } = answer.body;
    assert.deepEqual({ ...list.body.data[0], last_used_at: null }, shown);
    assert.ok(!list.text.includes(token));
  });

  test('POST 201: a key makes keys for its own user; without a name it has one', async () => {
    const answer = await create({ key: owner.key }, {});
    assert.equal(answer.status, 201);
    assert.equal(answer.body.user_id, owner.userId);
    assert.ok(answer.body.name.length > 0);
  });

  test('POST 400: a bad name, bad JSON', async () => {
    refused(await create({ jwt: owner.jwt }, { name: 5 }), 400, 'BAD_REQUEST');
    refused(await create({ jwt: owner.jwt }, { name: 'x'.repeat(256) }), 400, 'BAD_REQUEST');
    refused(await server.api('POST', '/v1/tokens', { jwt: owner.jwt, rawBody: '{' }), 400, 'INVALID_JSON');
  });

  test('GET 200: newest first, by pages, and nobody else’s', async () => {
    const company = await newOwner(server);
    for (const name of ['one', 'two', 'three']) await create({ jwt: company.jwt }, { name });
    const page = await server.api('GET', '/v1/tokens?limit=2&page=1', { jwt: company.jwt });
    assert.deepEqual(
      { ...page.body, data: page.body.data.map((token: { name: string }) => token.name) },
      { data: ['three', 'two'], total: 4, page: 1, limit: 2 },
    );
    const rest = await server.api('GET', '/v1/tokens?limit=2&page=2', { jwt: company.jwt });
    assert.deepEqual(
      rest.body.data.map((token: { name: string }) => token.name),
      ['one', 'Bootstrap key'],
    );
    refused(await server.api('GET', '/v1/tokens?limit=0', { jwt: company.jwt }), 400, 'BAD_REQUEST');
  });

  test('DELETE 204: the key is refused from the next request on, and out of the list', async () => {
    const { body } = await create({ jwt: owner.jwt });
    assert.equal((await server.api('GET', '/v1/instances', { key: body.token })).status, 200);
    assert.equal((await server.api('DELETE', `/v1/tokens/${body.id}`, { jwt: owner.jwt })).status, 204);
    refused(await server.api('GET', '/v1/instances', { key: body.token }), 401, 'TOKEN_INVALID');
    const list = await server.api('GET', '/v1/tokens', { jwt: owner.jwt });
    assert.ok(!list.body.data.some((token: { id: number }) => token.id === body.id));
  });

  test('DELETE 404: a foreign, an unknown, a revoked and a misshapen id answer the same bytes', async () => {
    const other = await newOwner(server);
    const foreign = (await create({ jwt: other.jwt })).body;
    const revoked = (await create({ jwt: owner.jwt })).body;
    await server.api('DELETE', `/v1/tokens/${revoked.id}`, { jwt: owner.jwt });
    const answers = [];
    for (const id of [99_999_999, foreign.id, revoked.id, 'x', '1e3', 0])
      answers.push(await server.api('DELETE', `/v1/tokens/${id}`, { jwt: owner.jwt }));
    for (const answer of answers) {
      refused(answer, 404, 'NOT_FOUND');
      assert.deepEqual({ ...answer.body, trace_id: '' }, { ...answers[0]!.body, trace_id: '' });
    }
    assert.equal((await server.api('GET', '/v1/instances', { key: foreign.token })).status, 200);
  });

  test('403 INSUFFICIENT_PERMISSIONS for admins and agents; 403 EMAIL_NOT_VERIFIED until verified', async () => {
    for (const role of ['admin', 'agent'] as const) {
      const member = await newMember(server, owner, role);
      refused(await create({ jwt: member.jwt }), 403, 'INSUFFICIENT_PERMISSIONS');
      refused(await server.api('GET', '/v1/tokens', { jwt: member.jwt }), 403, 'INSUFFICIENT_PERMISSIONS');
    }
    const fresh = await newOwner(server, { verified: false });
    refused(await create({ key: fresh.key }), 403, 'EMAIL_NOT_VERIFIED');
    assert.equal((await server.api('GET', '/v1/tokens', { key: fresh.key })).status, 200);
  });

  test('keys from before the rename, old_, stay valid; other prefixes and lengths never were', async () => {
    const hex = 'ab'.repeat(32);
    await server.db.query(
      `INSERT INTO api_tokens (company_id, user_id, name, key_hash, last4) VALUES ($1, $2, 'legacy', $3, 'abab')`,
      [owner.companyId, owner.userId, createHash('sha256').update(`old_${hex}`).digest()],
    );
    const status = async (key: string) => (await server.api('GET', '/v1/tokens', { key })).status;
    assert.equal(await status(`old_${hex}`), 200);
    for (const key of [
      `svc_${hex}`,
      `OLD_${hex}`,
      `new_${hex}`,
      `old_${hex}0`,
      `old_${hex.toUpperCase()}`,
      'x',
    ])
      assert.equal(await status(key), 401, key);
  });

  test('401 TOKEN_INVALID: a key in Authorization: Bearer', async () => {
    refused(await server.api('GET', '/v1/tokens', { jwt: owner.key }), 401, 'TOKEN_INVALID');
    assert.equal((await server.api('GET', '/v1/tokens', { key: owner.key })).status, 200);
    refused(await server.api('GET', '/v1/tokens', { jwt: owner.key }), 401, 'TOKEN_INVALID');
    refused(await server.api('GET', '/v1/tokens', { key: owner.jwt }), 401, 'TOKEN_INVALID');
  });

  test('401 TOKEN_INVALID names the right header when Authorization has a key, in any scheme or shape', async () => {
    const message = async (authorization: string) => {
      const answer = await server.api('GET', '/v1/tokens', { headers: { authorization } });
      refused(answer, 401, 'TOKEN_INVALID');
      return answer.body.message as string;
    };
    for (const key of [owner.key, owner.key.slice(0, 20), `old_${'0'.repeat(64)}`])
      for (const written of [`Bearer ${key}`, `bearer  ${key}`, `Basic ${key}`, `ApiKey ${key}`, key])
        assert.match(await message(written), /X-API-Key/, written);
    for (const other of ['Bearer x', `Bearer ${owner.jwt}x`, 'Basic c3ZjX3g6'])
      assert.doesNotMatch(await message(other), /X-API-Key/, other);
  });

  test('the use of a key is noted, once a minute at most', async () => {
    const { body } = await create({ jwt: owner.jwt });
    const usedAt = async () => {
      const list = await server.api('GET', '/v1/tokens', { jwt: owner.jwt });
      return list.body.data.find((token: { id: number }) => token.id === body.id).last_used_at;
    };
    // The request does not wait until its use is noted.
    await delay(50);
    assert.equal(await usedAt(), null);
    await server.api('GET', '/v1/instances', { key: body.token });
    assert.equal(await waitFor(usedAt), server.clock.now().toISOString());
  });
});
