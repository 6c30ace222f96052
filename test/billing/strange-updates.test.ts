import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { consumeEntitlementUpdates } from '@posthorn/worker/billing/consume-entitlement-updates.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';

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
  const broker = createInProcessBroker();
  t.after(() => broker.close());
  const lines: string[] = [];
  const to = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level: 'warn', role: 'test', to });
  const consumer = await consumeEntitlementUpdates({ ...parts, broker, log });
  t.after(() => consumer.close());
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
