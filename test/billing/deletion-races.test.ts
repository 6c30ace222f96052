import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { undoDueIntents } from '@posthorn/core/billing/provider/provider-intents.ts';
import { cancelDeleted } from '@posthorn/core/billing/subscriptions/cancel-deleted.ts';
import { waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { type AsaasServer, startAsaasServer } from './asaas-server.ts';
import { startTestBilling, type TestBilling, withProfile, withSubscription } from './billing-harness.ts';

describe('a company that is deleted or suspended while it subscribes', () => {
  let asaas: AsaasServer;
  let billing: TestBilling;
  before(async () => {
    asaas = await startAsaasServer();
    billing = await startTestBilling({ asaas });
  });
  after(async () => {
    await billing.close();
    await asaas.close();
  });

  const setStatus = ({ companyId }: SeededCompany, status: string) =>
    billing.parts.db.query('UPDATE companies SET status = $2 WHERE id = $1', [companyId, status]);
  const living = () => [...asaas.subscriptions.values()].filter((each) => !each.deleted).length;

  for (const status of ['deleted', 'suspended'])
    it(`gets no subscription once it is ${status}, on neither side`, async () => {
      const company = await withProfile(billing);
      const before = living();
      const changed = Promise.withResolvers<void>();
      asaas.fault('POST /subscriptions', { kind: 'slow', until: changed.promise });
      const subscribing = billing.call('POST', '/v1/billing/subscriptions', {
        key: company.apiKey,
        body: { plan_code: 'starter_monthly', billing_type: 'boleto' },
      });
      await waitFor(async () => {
        const { rowCount } = await billing.parts.db.query(
          `SELECT FROM billing.provider_intents WHERE company_id = $1 AND kind = 'subscription'`,
          [company.companyId],
        );
        return rowCount === 1;
      });
      await setStatus(company, status);
      changed.resolve();
      const { status: code, body } = await subscribing;
      assert.deepEqual([code, body.error_code], [403, 'COMPANY_SUSPENDED']);
      assert.match(body.trace_id, /^[0-9a-f-]{36}$/);
      billing.parts.clock.advance(120_000);
      await waitFor(async () => {
        await undoDueIntents(billing.billing);
        return living() === before;
      });
    });

  it('pays no more for one that was made in the last moment, as soon as the provider answers', async () => {
    const company = await withSubscription(billing);
    const other = await withSubscription(billing);
    assert.equal(await cancelDeleted(billing.billing), 0, 'nobody is deleted');
    await setStatus(company, 'deleted');
    asaas.fault('DELETE /subscriptions', { kind: '500-before' });
    const statusOf = async ({ companyId }: SeededCompany) =>
      (
        await billing.parts.db.query<{ status: string }>(
          'SELECT status FROM billing.subscriptions WHERE company_id = $1',
          [companyId],
        )
      ).rows[0]!.status;
    await waitFor(async () => {
      await cancelDeleted(billing.billing);
      return (await statusOf(company)) === 'cancelled';
    });
    assert.equal(asaas.subscriptions.get(company.subscription.asaas_subscription_id)!.deleted, true);
    assert.equal(await statusOf(other), 'trialing');
    assert.equal(await cancelDeleted(billing.billing), 0);
  });
});
