import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createBillingClient } from '@posthorn/core/accounts/company/billing-client.ts';
import { deleteAccount } from '@posthorn/core/accounts/company/delete-account.ts';
import { createAccounts } from '@posthorn/core/accounts/create-accounts.ts';
import { testConfig } from '../support/config.ts';
import { seedInstance } from '../support/seed.ts';
import { type AsaasServer, startAsaasServer } from './asaas-server.ts';
import { INTERNAL_SECRET, startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';

const PASSWORD = 'a password that is long enough';
let asaas: AsaasServer;
let billing: TestBilling;
before(async () => {
  asaas = await startAsaasServer();
  billing = await startTestBilling({ asaas, asaasTimeoutMs: 1_500 });
});
after(async () => {
  await billing.close();
  await asaas.close();
});

/** The use case of `DELETE /v1/auth/me/account`, with messaging's own client to the billing service. */
async function prepare(baseUrl: string | undefined = billing.url) {
  const company = await withSubscription(billing);
  await seedInstance(billing.parts.db, company.companyId, { wanted: 'connected' });
  const accounts = createAccounts(billing.parts, testConfig());
  await billing.parts.db.query('UPDATE users SET password_hash = $2 WHERE id = $1', [
    company.userId,
    await accounts.deps.passwords.hashPassword(PASSWORD),
  ]);
  const client = createBillingClient({ baseUrl, secret: INTERNAL_SECRET });
  const remove = () =>
    deleteAccount(
      { ...accounts.deps, billing: client },
      { principal: { ...company.principal, via: 'jwt' }, currentPassword: PASSWORD, traceId: null },
    );
  const statusOf = async (table: 'companies' | 'billing.subscriptions', column: 'id' | 'company_id') => {
    const { rows } = await billing.parts.db.query<{ status: string }>(
      `SELECT status FROM ${table} WHERE ${column} = $1`,
      [company.companyId],
    );
    return rows[0]!.status;
  };
  return {
    company,
    remove,
    companyStatus: () => statusOf('companies', 'id'),
    subscriptionStatus: () => statusOf('billing.subscriptions', 'company_id'),
    atProvider: () => asaas.subscriptions.get(company.subscription.asaas_subscription_id)!.deleted !== true,
  };
}

describe('the deletion of an account', () => {
  it('cancels the subscription here and at the provider, and reports it', async () => {
    const account = await prepare();
    const deleted = await account.remove();
    assert.equal(deleted.billing_cancelled, 1);
    assert.equal(deleted.instances_logout, 1);
    assert.equal(await account.companyStatus(), 'deleted');
    assert.equal(await account.subscriptionStatus(), 'cancelled');
    assert.equal(account.atProvider(), false);
  });

  for (const kind of ['500-before', 'reset-before', 'silent'] as const)
    it(`answers 502 ACCOUNT_DELETION_FAILED and changes nothing when the provider fails: ${kind}`, async () => {
      const account = await prepare();
      asaas.fault('DELETE /subscriptions', { kind });
      await assert.rejects(account.remove(), { code: 'ACCOUNT_DELETION_FAILED', status: 502 });
      assert.equal(await account.companyStatus(), 'active');
      assert.equal(await account.subscriptionStatus(), 'trialing');
      assert.equal((await account.remove()).deleted_at !== undefined, true);
      assert.equal(await account.subscriptionStatus(), 'cancelled');
      assert.equal(account.atProvider(), false);
    });

  it('answers 502 when billing itself is not there', async () => {
    const account = await prepare('http://127.0.0.1:9');
    await assert.rejects(account.remove(), { code: 'ACCOUNT_DELETION_FAILED', status: 502 });
    assert.equal(await account.companyStatus(), 'active');
    assert.equal(account.atProvider(), true);
  });

  it('answers 500 when billing has cancelled and the company could not be written', async () => {
    const account = await prepare();
    await billing.parts.db.query(
      `ALTER TABLE companies ADD CONSTRAINT stays CHECK (status <> 'deleted') NOT VALID`,
    );
    await assert.rejects(account.remove(), { code: 'ACCOUNT_DELETION_FAILED', status: 500 });
    await billing.parts.db.query('ALTER TABLE companies DROP CONSTRAINT stays');
    assert.equal(await account.subscriptionStatus(), 'cancelled');
    const again = await account.remove();
    assert.equal(again.billing_cancelled, 0);
    assert.equal(await account.companyStatus(), 'deleted');
  });
});
