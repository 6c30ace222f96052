import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { newCompanyName, newMember, newOwner, type Person } from './support/people.ts';

describe('PATCH /v1/auth/me', () => {
  let server: AccountServer;
  let owner: Person;
  before(async () => {
    server = await startAccountServer();
    owner = await newOwner(server);
  });
  after(() => server.close());

  const update = (body: Record<string, unknown>, jwt = owner.jwt) =>
    server.api('PATCH', '/v1/auth/me', { jwt, body });

  test('200: a new name and company name, trimmed; the slug never changes', async () => {
    const before = await update({});
    const name = newCompanyName();
    const answer = await update({ name: '  Olívia Ñ ', company_name: ` ${name} ` });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, {
      user: { id: owner.userId, email: owner.email, name: 'Olívia Ñ', role: 'owner' },
      company: { id: owner.companyId, name, slug: before.body.company.slug },
    });
    assert.deepEqual((await update({})).body, answer.body);
  });

  test('200: no field at all changes nothing; unknown ones are ignored', async () => {
    const first = await update({});
    assert.equal(first.status, 200);
    const second = await update({ role: 'superadmin', slug: 'x', email: 'x@example.test' });
    assert.deepEqual(second.body, first.body);
  });

  for (const field of ['name', 'company_name'])
    for (const [what, value] of Object.entries({
      empty: '',
      'only spaces': '   ',
      '256 characters': 'x'.repeat(256),
      null: null,
      'a number': 5,
    }))
      test(`400 BAD_REQUEST: ${field} ${what}`, async () => {
        refused(await update({ [field]: value }), 400, 'BAD_REQUEST');
      });

  test('200: 255 characters, multi-byte ones too', async () => {
    for (const character of ['é', '🦊'])
      assert.equal((await update({ name: character.repeat(255) })).status, 200, character);
    refused(await update({ name: '🦊'.repeat(256) }), 400, 'BAD_REQUEST');
  });

  test('400 BAD_REQUEST: a company name of forbidden characters, and a body that is no JSON', async () => {
    refused(await update({ company_name: '<script>' }), 400, 'BAD_REQUEST');
    refused(await server.api('PATCH', '/v1/auth/me', { jwt: owner.jwt, rawBody: '{' }), 400, 'BAD_REQUEST');
  });

  test('403 OWNER_ONLY: admins and agents rename themselves, not the company', async () => {
    for (const role of ['admin', 'agent'] as const) {
      const member = await newMember(server, owner, role);
      assert.equal((await update({ name: `New ${role}` }, member.jwt)).status, 200);
      refused(await update({ company_name: newCompanyName() }, member.jwt), 403, 'OWNER_ONLY');
      refused(
        await update({ name: 'Not this', company_name: newCompanyName() }, member.jwt),
        403,
        'OWNER_ONLY',
      );
      assert.equal((await update({}, member.jwt)).body.user.name, `New ${role}`);
    }
  });

  test('409 CONFLICT: the name of another company', async () => {
    const other = await newOwner(server);
    const { company } = (await update({}, other.jwt)).body;
    refused(await update({ company_name: company.name.toUpperCase() }), 409, 'CONFLICT');
    assert.equal((await update({ company_name: company.name.toUpperCase() }, other.jwt)).status, 200);
  });

  test('401: without a JWT, with a key', async () => {
    refused(await server.api('PATCH', '/v1/auth/me', { body: {} }), 401, 'UNAUTHORIZED');
    refused(await server.api('PATCH', '/v1/auth/me', { key: owner.key, body: {} }), 401, 'UNAUTHORIZED');
  });
});
