import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { newMember, newOwner, type Person } from './support/people.ts';
import { newSuperadmin, ROOT_EMAIL } from './support/superadmin.ts';

describe('/v1/admin/companies', () => {
  let server: AccountServer;
  let root: Person;
  let owner: Person;
  before(async () => {
    server = await startAccountServer({ SUPERADMIN_EMAILS: ROOT_EMAIL });
    root = await newSuperadmin(server);
    owner = await newOwner(server);
  });
  after(() => server.close());

  const admin = (method: string, path: string) =>
    server.api(method, `/v1/admin/companies${path}`, { jwt: root.jwt });

  test('GET 200: every company, newest first, by status, by part of the name, by pages', async () => {
    const other = await newOwner(server);
    const list = await admin('GET', '');
    assert.deepEqual(
      list.body.data.map((company: { id: number }) => company.id),
      [other.companyId, owner.companyId, 1],
    );
    assert.equal(list.body.total, 3);
    assert.equal(list.body.data[0].users, 1);
    assert.equal(list.body.data[0].instances, 0);
    const page = await admin('GET', '?limit=1&page=3');
    assert.equal(page.body.data[0].id, 1);
    const found = await admin('GET', '?search=PLATF');
    assert.deepEqual(
      found.body.data.map((company: { id: number }) => company.id),
      [1],
    );
    assert.equal((await admin('GET', '?search=%25')).body.total, 0, 'a percent sign is no wildcard');
    assert.equal((await admin('GET', '?status=suspended')).body.total, 0);
    refused(await admin('GET', '?status=gone'), 400, 'BAD_REQUEST');
  });

  test('POST suspend 200: JWTs and keys are refused from the next request on; reactivate takes it back', async () => {
    const agent = await newMember(server, owner, 'agent');
    const who = [{ jwt: owner.jwt }, { key: owner.key }, { jwt: agent.jwt }];
    for (const each of who) assert.equal((await server.api('GET', '/v1/events', each)).status, 200);
    const suspended = await admin('POST', `/${owner.companyId}/suspend`);
    assert.equal(suspended.status, 200);
    assert.equal(suspended.body.status, 'suspended');
    for (const each of who) refused(await server.api('GET', '/v1/events', each), 403, 'COMPANY_SUSPENDED');
    assert.equal((await admin('POST', `/${owner.companyId}/suspend`)).status, 200, 'twice is no error');
    const active = await admin('POST', `/${owner.companyId}/reactivate`);
    assert.equal(active.body.status, 'active');
    for (const each of who) assert.equal((await server.api('GET', '/v1/events', each)).status, 200);
    const audit = await server.api('GET', '/v1/audit', { jwt: owner.jwt });
    const actions = audit.body.data.map((entry: { action: string }) => entry.action);
    assert.deepEqual(actions.slice(0, 2), ['company.reactivated', 'company.suspended']);
  });

  test('POST 404 COMPANY_NOT_FOUND: an unknown and a misshapen id, in the same bytes', async () => {
    for (const what of ['suspend', 'reactivate']) {
      const answers = [await admin('POST', `/99999999/${what}`), await admin('POST', `/x/${what}`)];
      for (const answer of answers) refused(answer, 404, 'COMPANY_NOT_FOUND');
      assert.deepEqual({ ...answers[0]!.body, trace_id: '' }, { ...answers[1]!.body, trace_id: '' });
    }
  });

  test('POST 409: the platform can not be suspended, a deleted company not be moved', async () => {
    refused(await admin('POST', '/1/suspend'), 409, 'CONFLICT');
    const gone = await newOwner(server);
    await server.db.query(`UPDATE companies SET status = 'deleted' WHERE id = $1`, [gone.companyId]);
    for (const what of ['suspend', 'reactivate'])
      refused(await admin('POST', `/${gone.companyId}/${what}`), 409, 'ACCOUNT_ALREADY_DELETED');
  });

  test('403 SUPERADMIN_REQUIRED for every other role', async () => {
    for (const person of [
      owner,
      await newMember(server, owner, 'admin'),
      await newMember(server, owner, 'agent'),
    ])
      for (const [method, path] of [
        ['GET', ''],
        ['POST', `/${owner.companyId}/suspend`],
        ['POST', `/${owner.companyId}/reactivate`],
      ] as const) {
        const answer = await server.api(method, `/v1/admin/companies${path}`, { jwt: person.jwt });
        refused(answer, 403, 'SUPERADMIN_REQUIRED');
      }
  });
});
