import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { undoDueIntents } from '@posthorn/core/billing/provider/provider-intents.ts';
import { listDueEvents, processEvent } from '@posthorn/core/billing/provider-events/process-event.ts';
import { purgeCompanies } from '@posthorn/core/billing/purge-companies.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import { cancelDeleted } from '@posthorn/core/billing/subscriptions/cancel-deleted.ts';
import { rowsLeft } from '@posthorn/core/operations/tenant-tables.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { type AsaasServer, startAsaasServer } from './asaas-server.ts';
import {
  drainEvents,
  INTERNAL_SECRET,
  startTestBilling,
  type TestBilling,
  withProfile,
  withSubscription,
} from './billing-harness.ts';
import { paymentEvent, subscriptionEvent } from './provider-payloads.ts';

describe('a company that is deleted or suspended while it subscribes', () => {
  let asaas: AsaasServer;
  let billing: TestBilling;
  const errors: Record<string, unknown>[] = [];
  before(async () => {
    asaas = await startAsaasServer();
    const to = { write: (line: string) => void errors.push(JSON.parse(line)) };
    billing = await startTestBilling({
      asaas,
      log: createLog({ level: 'error', role: 'test', stormWindowMs: 0, to }),
    });
  });
  after(async () => {
    await billing.close();
    await asaas.close();
  });

  const setStatus = ({ companyId }: SeededCompany, status: string) =>
    billing.parts.db.query('UPDATE companies SET status = $2 WHERE id = $1', [companyId, status]);
  const living = () => [...asaas.subscriptions.values()].filter((each) => !each.deleted).length;

  /** A company whose subscription the provider makes only once the company has that status. */
  async function refused(status: string) {
    const company = await withProfile(billing);
    const changed = Promise.withResolvers<void>();
    asaas.fault('POST /subscriptions', { kind: 'slow', until: changed.promise });
    const subscribe = () =>
      billing.call('POST', '/v1/billing/subscriptions', {
        key: company.apiKey,
        body: { plan_code: 'starter_monthly', billing_type: 'boleto' },
      });
    const subscribing = subscribe();
    await waitFor(async () => {
      const { rowCount } = await billing.parts.db.query(
        `SELECT FROM billing.provider_intents WHERE company_id = $1 AND kind = 'subscription'`,
        [company.companyId],
      );
      return rowCount === 1;
    });
    await setStatus(company, status);
    changed.resolve();
    return { company, subscribe, answer: await subscribing };
  }

  for (const status of ['deleted', 'suspended'])
    it(`gets no subscription once it is ${status}, on neither side`, async () => {
      const before = living();
      const { status: code, body } = (await refused(status)).answer;
      assert.deepEqual([code, body.error_code], [403, 'COMPANY_SUSPENDED']);
      assert.match(body.trace_id, /^[0-9a-f-]{36}$/);
      assert.equal(await undoDueIntents(billing.billing), 1);
      assert.equal(living(), before);
    });

  it('may subscribe at once when it is active again', async () => {
    const { company, subscribe } = await refused('suspended');
    await setStatus(company, 'active');
    const again = await subscribe();
    assert.deepEqual([again.status, again.body.status], [201, 'trialing'], again.text);
  });

  it('has a payment for what was undone told to operators', async () => {
    const { company } = await refused('suspended');
    await undoDueIntents(billing.billing);
    const { id, externalReference } = [...asaas.subscriptions.values()].at(-1)!;
    const paid = paymentEvent(
      'PAYMENT_RECEIVED',
      { asaas_subscription_id: String(id), billing_type: 'boleto' },
      { at: billing.parts.clock.now() },
    );
    Object.assign(paid.payment as object, { externalReference });
    errors.splice(0);
    let counted = 0;
    await billing.deliver(paid);
    await drainEvents(billing, { countPaymentAfterEnd: () => (counted += 1) });
    assert.deepEqual(
      errors.map(({ company_id, msg }) => [company_id, msg]),
      [
        [
          company.companyId,
          'a payment came for a subscription that is over: look whether the provider has to refund it',
        ],
      ],
    );
    assert.equal(counted, 1);
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

describe('a company that is erased while the provider could still charge it', () => {
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

  /** As `erase` does: billing cancels, messaging's rows are removed, and billing's own rows are purged. */
  async function erase({ companyId }: SeededCompany): Promise<void> {
    const path = `/internal/v1/companies/${companyId}/cancel-subscriptions`;
    const asked = await billing.call('POST', path, { headers: { 'x-internal-secret': INTERNAL_SECRET } });
    assert.equal(asked.status, 200, asked.text);
    await billing.parts.db.query('DELETE FROM companies WHERE id = $1', [companyId]);
    await purgeCompanies(billing.billing);
  }
  const left = async ({ companyId }: SeededCompany) =>
    Object.keys(await rowsLeft(billing.parts.db, companyId)).filter((table) => table.startsWith('billing.'))
      .length;
  async function recover(): Promise<void> {
    asaas.clearFaults();
    for (let hour = 0; hour < 8; hour += 1) {
      billing.parts.clock.advance(3_600_000);
      await undoDueIntents(billing.billing);
      while (await runDueTask(billing.billing));
    }
  }

  it('is charged no more, once the provider is told of an earlier cancellation, and then nothing is left', async () => {
    const company = await withSubscription(billing);
    const { id, asaas_subscription_id } = company.subscription;
    asaas.fault('DELETE /subscriptions', { kind: '500-before' }, 9);
    const cancelled = await billing.call('POST', `/v1/billing/subscriptions/${id}/cancel`, {
      key: company.apiKey,
      body: { immediate: true },
    });
    assert.equal(cancelled.status, 204);
    await runDueTask(billing.billing);
    await erase(company);
    assert.ok((await left(company)) > 0);
    await recover();
    assert.equal(asaas.subscriptions.get(asaas_subscription_id)!.deleted, true);
    assert.equal(await purgeCompanies(billing.billing), 1);
    assert.equal(await left(company), 0);
  });

  it('is charged nothing by a subscription that was made at the provider after its request had failed', async () => {
    const company = await withProfile(billing);
    const before = asaas.subscriptions.size;
    const late = Promise.withResolvers<void>();
    asaas.fault('POST /subscriptions', { kind: 'late', until: late.promise });
    const failed = await billing.call('POST', '/v1/billing/subscriptions', {
      key: company.apiKey,
      body: { plan_code: 'starter_monthly', billing_type: 'boleto' },
    });
    assert.equal(failed.status, 503, failed.text);
    await undoDueIntents(billing.billing);
    await erase(company);
    late.resolve();
    await waitFor(() => asaas.subscriptions.size === before + 1);
    await recover();
    assert.equal([...asaas.subscriptions.values()].at(-1)!.deleted, true);
    assert.equal(await purgeCompanies(billing.billing), 1);
    assert.equal(await left(company), 0);
  });

  it('is charged no more for a subscription that was made while it was erased', async () => {
    const company = await withSubscription(billing);
    await billing.parts.db.query('DELETE FROM companies WHERE id = $1', [company.companyId]);
    assert.equal(await purgeCompanies(billing.billing), 0);
    await cancelDeleted(billing.billing);
    assert.equal(asaas.subscriptions.get(company.subscription.asaas_subscription_id)!.deleted, true);
    assert.equal(await purgeCompanies(billing.billing), 1);
    assert.equal(await left(company), 0);
  });

  it('leaves nothing although events of its provider are processed meanwhile', async () => {
    const company = await withSubscription(billing);
    const at = billing.parts.clock.now();
    for (const event of ['PAYMENT_CREATED', 'PAYMENT_DELETED'])
      await billing.deliver(paymentEvent(event, company.subscription, { at }));
    const due = await listDueEvents(billing.billing, 2);
    const client = await billing.parts.db.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM billing.provider_events WHERE id = $1 FOR UPDATE', [due[0]]);
    let isProcessed = false;
    const areWaiting = (statements: number) =>
      waitFor(async () => {
        const { rowCount } = await billing.parts.db.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return isProcessed || rowCount === statements;
      });
    const erasing = erase(company);
    await areWaiting(1);
    const processing = processEvent(billing.billing, due[1]!).then(() => {
      isProcessed = true;
    });
    await areWaiting(2);
    // Each looks for a deadlock once, a second after it began to wait: here the purge finds it.
    await delay(3_000);
    await client.query('COMMIT');
    client.release();
    await Promise.all([erasing, processing]);
    assert.equal(await left(company), 0);
    const events = await billing.parts.db.query('SELECT FROM billing.provider_events');
    assert.equal(events.rowCount, 0);
  });

  it('has the end that the provider tells of afterwards passed over, and a payment not', async () => {
    const { subscription, ...company } = await withSubscription(billing);
    const { externalReference } = asaas.subscriptions.get(subscription.asaas_subscription_id)!;
    await erase(company);
    const at = billing.parts.clock.now();
    const ended = subscriptionEvent(subscription, { at });
    Object.assign(ended.subscription as object, { externalReference });
    await billing.deliver(ended);
    for (const event of ['PAYMENT_DELETED', 'PAYMENT_RECEIVED']) {
      const told = paymentEvent(event, subscription, { at });
      Object.assign(told.payment as object, { externalReference });
      await billing.deliver(told);
    }
    await drainEvents(billing);
    const { rows } = await billing.parts.db.query<{ event: string; status: string }>(
      `SELECT event, status FROM billing.provider_events
       WHERE coalesce(payload #>> '{payment,subscription}', payload #>> '{subscription,id}') = $1 ORDER BY id`,
      [subscription.asaas_subscription_id],
    );
    assert.deepEqual(
      rows.map(({ event, status }) => [event, status]),
      [
        ['SUBSCRIPTION_DELETED', 'ignored'],
        ['PAYMENT_DELETED', 'ignored'],
        ['PAYMENT_RECEIVED', 'pending'],
      ],
    );
  });

  it('leaves nothing at once when the provider has ended its subscription', async () => {
    const company = await withSubscription(billing);
    await erase(company);
    assert.equal(asaas.subscriptions.get(company.subscription.asaas_subscription_id)!.deleted, true);
    assert.equal(await left(company), 0);
  });
});
