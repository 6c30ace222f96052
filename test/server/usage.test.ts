import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CompanyUsage } from '@posthorn/contract/messaging/usage.ts';
import { countUsage } from '@posthorn/core/usage/count-usage.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const HOUR_MS = 3_600_000;

describe('the usage of a company', () => {
  let api: TestMessaging;
  let owner: SeededCompany;
  before(async () => {
    api = await startTestMessaging();
    owner = await seedCompany(api.parts.db);
  });
  after(() => api?.close());

  const read = async (key: string) =>
    (await api.call('GET', '/v1/usage', { key })).body as unknown as CompanyUsage;
  const count = (
    instanceId: string,
    what: 'sent' | 'failed',
    hoursAgo: number,
    companyId = owner.companyId,
  ) =>
    countUsage(
      api.parts.db,
      [{ companyId, instanceId, what }],
      new Date(api.parts.clock.now().getTime() - hoursAgo * HOUR_MS),
    );

  test('has 24 hours, in which nothing of others and nothing older counts', async () => {
    const [first, second] = [
      await seedInstance(api.parts.db, owner.companyId),
      await seedInstance(api.parts.db, owner.companyId),
    ];
    const other = await seedCompany(api.parts.db);
    const foreign = await seedInstance(api.parts.db, other.companyId);
    for (const hours of [0, 0, 5, 24]) await count(first, 'sent', hours);
    await count(second, 'failed', 5);
    await count(foreign, 'sent', 0, other.companyId);

    const { hours, instances, since } = await read(owner.apiKey);
    assert.equal(hours.length, 24);
    assert.equal(hours[0]?.at, since);
    assert.deepEqual(
      hours.map(({ sent, failed }) => sent * 10 + failed).filter((counts) => counts > 0),
      [11, 20],
    );
    assert.equal(hours.at(-1)?.sent, 2);
    assert.deepEqual(
      instances.map(({ instance_id, sent, failed }) => [instance_id, sent, failed]),
      [
        [second, 0, 1],
        [first, 3, 0],
      ],
    );
    assert.equal((await read(other.apiKey)).hours.at(-1)?.sent, 1);
  });

  test('shows usage and limits by the plan, or the free limits without one', async () => {
    await api.parts.db.query(
      'UPDATE companies SET max_instances = NULL, max_users = NULL, storage_mb = NULL WHERE id = $1',
      [owner.companyId],
    );
    const before = (await read(owner.apiKey)).plan;
    assert.deepEqual(before.instances, { used: 2, limit: 5 });
    assert.deepEqual(before.users, { used: 1, limit: 5 });
    assert.deepEqual(before.storage_bytes, { used: 0, limit: 1024 * 1024 * 1024 });
    assert.ok(before.requests_per_minute > 0);
    await api.parts.db.query('UPDATE companies SET max_webhooks = 77, storage_mb = 2 WHERE id = $1', [
      owner.companyId,
    ]);
    const { webhooks, storage_bytes } = (await read(owner.apiKey)).plan;
    assert.deepEqual(webhooks, { used: 0, limit: 77 });
    assert.equal(storage_bytes.limit, 2 * 1024 * 1024);
  });
});
