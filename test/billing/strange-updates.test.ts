import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import { publishEntitlementUpdates } from '@posthorn/core/billing/entitlements/publish-updates.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { consumeEntitlementUpdates } from '@posthorn/worker/billing/consume-entitlement-updates.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { startTestBilling } from './billing-harness.ts';

/** More of each than a worker takes at once. */
const EACH = 10;

const limits = { max_instances: 7, max_users: 7, max_webhooks: 7, requests_per_minute: 700, storage_mb: 7 };

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('messages that are no entitlement updates do not keep the ones behind them waiting', async (t) => {
  const { companyId } = await seedCompany(parts.db);
  const update = { kind: 'limits_changed', company_id: companyId, version: 5, limits, suspended: false };
  const { broker, lines } = await startConsumer(t);
  const strange = [
    ...[null, 7, 'text', [], [update], {}],
    ...[
      { company_id: 'x' },
      { version: null },
      { version: 2 ** 53 },
      { company_id: 2 ** 40 },
      { suspended: 'no' },
      { limits: 7 },
      { limits: {} },
      { limits: { ...limits, max_users: 'all' } },
      { limits: { ...limits, storage_mb: 1.5 } },
      { limits: { ...limits, message_retention_days: {} } },
    ].map((part) => ({ ...update, version: 9, ...part })),
  ];
  for (let nth = 0; nth < EACH; nth += 1)
    for (const body of strange) await broker.publish(ENTITLEMENT_UPDATES_QUEUE, body);
  await broker.publish(ENTITLEMENT_UPDATES_QUEUE, update);
  await waitFor(async () => {
    const { rows } = await parts.db.query<{ max_instances: number | null }>(
      'SELECT max_instances FROM companies WHERE id = $1 AND billing_version = 5',
      [companyId],
    );
    return rows[0]?.max_instances === 7;
  }, 5_000);
  assert.match(lines[0] ?? '', /no entitlement update/);
});

test('an update of another installation that uses the same broker changes no company here', async (t) => {
  const { companyId } = await seedCompany(parts.db);
  const other = await startTestBilling();
  t.after(() => other.close());
  const { broker, lines } = await startConsumer(t);
  // The company with the same id there is suspended.
  const update = { kind: 'suspended', company_id: companyId, version: 9, limits: null, suspended: true };
  await other.parts.db.query(
    'INSERT INTO billing.outbox (company_id, body, created_at) VALUES ($1, $2, now())',
    [companyId, JSON.stringify(update)],
  );
  assert.equal(await publishEntitlementUpdates({ db: other.billing.db, broker }), 1);
  await waitFor(() => lines.length > 0);
  assert.match(lines[0]!, /another installation: give each its own virtual host in AMQP_URL/);
  const { rows } = await parts.db.query<{ billing_version: number; billing_suspended_at: Date | null }>(
    'SELECT billing_version, billing_suspended_at FROM companies WHERE id = $1',
    [companyId],
  );
  assert.deepEqual(rows, [{ billing_version: 0, billing_suspended_at: null }]);
});

/** The consumer of a worker, its broker, and the lines of its log. */
async function startConsumer(t: TestContext) {
  const broker = createInProcessBroker();
  t.after(() => broker.close());
  const lines: string[] = [];
  const to = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level: 'warn', role: 'test', to });
  const consumer = await consumeEntitlementUpdates({ ...parts, broker, log });
  t.after(() => consumer.close());
  return { broker, lines };
}
