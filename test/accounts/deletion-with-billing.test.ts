import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createPurgeJob } from '@posthorn/worker/purge/purge-job.ts';
import {
  INTERNAL_SECRET,
  newCpf,
  PROFILE,
  startTestBilling,
  type TestBilling,
} from '../billing/billing-harness.ts';
import { seedInstance } from '../support/seed.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { refused } from './support/api-client.ts';
import { newOwner, type Person } from './support/people.ts';

describe('deleting an account with both services running', () => {
  let billing: TestBilling;
  let server: AccountServer;
  before(async () => {
    billing = await startTestBilling({ requestsPerMinute: 1_000_000 });
    server = await startAccountServer(
      { BILLING_INTERNAL_URL: billing.url, INTERNAL_SECRET },
      { parts: billing.parts },
    );
  });
  after(async () => {
    await server.close();
    await billing.close();
  });

  /** An owner with a subscription that is not paid yet. */
  async function subscriber(): Promise<Person> {
    const owner = await newOwner(server);
    const call = (path: string, body: unknown) => billing.call('POST', path, { jwt: owner.jwt, body });
    assert.equal((await call('/v1/billing/profile', { ...PROFILE, document_number: newCpf() })).status, 201);
    const plan = { plan_code: 'pro_yearly', billing_type: 'boleto' };
    assert.equal((await call('/v1/billing/subscriptions', plan)).status, 201);
    return owner;
  }
  const statusOf = async (companyId: number) =>
    (
      await server.db.query<{ status: string }>(
        'SELECT status FROM billing.subscriptions WHERE company_id = $1',
        [companyId],
      )
    ).rows.map((row) => row.status);

  test('two instances and a subscription: cancelled at the provider, logged out, blocked in both services', async () => {
    const [owner, neighbour] = [await subscriber(), await subscriber()];
    for (let i = 0; i < 2; i++) await seedInstance(server.db, owner.companyId, { wanted: 'connected' });
    const answer = await server.api('DELETE', '/v1/auth/me/account', {
      jwt: owner.jwt,
      body: { current_password: owner.password },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.billing_cancelled, 1);
    assert.equal(answer.body.instances_logout, 2);
    assert.deepEqual(await statusOf(owner.companyId), ['cancelled']);
    assert.deepEqual(await statusOf(neighbour.companyId), ['trialing']);
    const { rows } = await server.db.query<{ wanted: string }>(
      'SELECT wanted FROM instances WHERE company_id = $1',
      [owner.companyId],
    );
    assert.deepEqual(
      rows.map((row) => row.wanted),
      ['logged_out', 'logged_out'],
    );
    refused(await server.api('GET', '/v1/instances', { jwt: owner.jwt }), 403, 'COMPANY_SUSPENDED');
    const current = await billing.call('GET', '/v1/billing/subscriptions/current', { jwt: owner.jwt });
    assert.equal(current.status, 403);
    assert.equal(current.body.error_code, 'COMPANY_SUSPENDED');
    const theirs = await billing.call('GET', '/v1/billing/subscriptions/current', { jwt: neighbour.jwt });
    assert.equal(theirs.status, 200);

    server.clock.advance(30 * 86_400_000);
    assert.equal(await createPurgeJob(server).runOnce(), 1);
    const companies = await server.db.query<{ id: number }>('SELECT id FROM companies WHERE id > 1');
    assert.deepEqual(
      companies.rows.map((row) => row.id),
      [neighbour.companyId],
    );
  });

  test('502 ACCOUNT_DELETION_FAILED: the secret between the services is wrong, and nothing is changed', async () => {
    const owner = await subscriber();
    const stranger = await startAccountServer(
      { BILLING_INTERNAL_URL: billing.url, INTERNAL_SECRET: `${INTERNAL_SECRET} not` },
      { parts: billing.parts },
    );
    try {
      const answer = await stranger.api('DELETE', '/v1/auth/me/account', {
        jwt: owner.jwt,
        body: { current_password: owner.password },
      });
      refused(answer, 502, 'ACCOUNT_DELETION_FAILED');
    } finally {
      await stranger.close();
    }
    assert.deepEqual(await statusOf(owner.companyId), ['trialing']);
    assert.equal((await server.api('GET', '/v1/instances', { jwt: owner.jwt })).status, 200);
  });
});
