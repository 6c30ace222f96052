import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setCompanyStatus } from '@posthorn/core/accounts/company/set-company-status.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { companyNotification } from '@posthorn/core/webhooks/notifications.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import {
  emitEvents,
  logsOf,
  pendingOf,
  type Receiver,
  seedWebhook,
  startDispatcher,
  startReceiver,
  type TestDispatcher,
} from './support.ts';

describe('webhooks of a suspended company', () => {
  let parts: Parts;
  let company: SeededCompany;
  let dispatcher: TestDispatcher;
  before(async () => {
    parts = await createParts();
    dispatcher = await startDispatcher(parts);
  });
  after(async () => {
    await dispatcher.close();
    await parts.close();
  });

  const setStatus = (status: 'active' | 'suspended') =>
    setCompanyStatus(
      { db: parts.db, clock: systemClock, forget: () => undefined },
      { companyId: company.companyId, status, by: { userId: company.userId }, traceId: null },
    );
  /** The number of deliveries of the webhook that workers hold. */
  const claimed = async (webhookId: number) => {
    const { rows } = await parts.db.query<{ n: number }>(
      'SELECT count(*)::integer AS n FROM webhook_deliveries WHERE webhook_id = $1 AND leased_until IS NOT NULL',
      [webhookId],
    );
    return rows[0]!.n;
  };
  /** Longer than two scans for due deliveries. */
  const aWhile = () => new Promise((resolve) => setTimeout(resolve, 2_500));

  test('get neither first attempts nor retries, and get each waiting delivery once when it is reactivated', async () => {
    company = await seedCompany(parts.db);
    const receiver = await startReceiver();
    const webhook = await seedWebhook(parts.db, company.companyId, receiver.url);
    await setStatus('suspended');
    const fresh = await emitEvents(parts, company.companyId, 3);
    const retried = await emitEvents(parts, company.companyId, 2);
    await parts.db.query(`UPDATE webhook_deliveries SET attempts = 1 WHERE event_id = ANY ($1::uuid[])`, [
      retried.map(({ eventId }) => eventId),
    ]);
    parts.bus.notify('deliveries', 'retries');
    await aWhile();
    assert.equal(receiver.requests, 0);
    assert.equal(await pendingOf(parts.db, webhook.id), 5, 'nothing of it is lost');
    await setStatus('active');
    await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === 5);
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['webhook-id']).toSorted(),
      [...fresh, ...retried].map(({ eventId }) => eventId).toSorted(),
    );
    await receiver.close();
  });

  for (const [what, statement] of [
    ['is being claimed', 'deliveries-claim'],
    ['was claimed, and whose webhook is being read', 'webhooks-for-delivery'],
  ] as const)
    test(`release a delivery that ${what} at that moment`, async () => {
      company = await seedCompany(parts.db);
      const receiver = await startReceiver();
      const webhook = await seedWebhook(parts.db, company.companyId, receiver.url);
      const heard = Promise.withResolvers<void>();
      let isArmed = true;
      const db = createDb({
        url: parts.url,
        poolSize: 6,
        log: parts.log,
        name: 'suspending',
        plans: 'indexed',
      });
      const query = db.query as unknown as (
        config: { name?: string },
        values?: unknown[],
      ) => Promise<{ rows: object[] }>;
      const suspending = {
        ...db,
        async query(config: { name?: string }, values?: unknown[]) {
          const result = await query(config, values);
          if (config.name === statement && result.rows.length > 0 && isArmed) {
            isArmed = false;
            await setStatus('suspended');
            await heard.promise;
          }
          return result;
        },
      } as Db;
      await dispatcher.close();
      const own = await startDispatcher(parts, { db: suspending });
      // The dispatcher's own handler was added before, so it runs before this one.
      parts.bus.on('deliveries', (payload) => {
        if (payload === companyNotification(company.companyId)) heard.resolve();
      });
      try {
        await emitEvents(parts, company.companyId, 20);
        await heard.promise;
        await aWhile();
        await waitFor(async () => (await claimed(webhook.id)) === 0, undefined, {
          what: 'nobody holds them',
        });
        assert.equal(receiver.requests, 0);
        await setStatus('active');
        await waitFor(() => receiver.requests === 20);
      } finally {
        await own.close();
        await db.close();
        await receiver.close();
        dispatcher = await startDispatcher(parts);
      }
    });

  test('release the deliveries that a worker holds, except attempts under way', async () => {
    company = await seedCompany(parts.db);
    const answers: (() => void)[] = [];
    const receiver: Receiver = await startReceiver((_req, res) => {
      answers.push(() => res.end('ok'));
    });
    const webhook = await seedWebhook(parts.db, company.companyId, receiver.url);
    await emitEvents(parts, company.companyId, 40);
    await waitFor(() => receiver.requests > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await setStatus('suspended');
    await waitFor(async () => (await claimed(webhook.id)) === receiver.requests, undefined, {
      what: 'what was held is released',
    });
    const underWay = receiver.requests;
    for (const answer of answers.splice(0)) answer();
    await aWhile();
    assert.equal(receiver.requests, underWay);
    assert.ok(underWay < 40);
    await setStatus('active');
    await waitFor(async () => {
      for (const answer of answers.splice(0)) answer();
      return (await pendingOf(parts.db, webhook.id)) === 0;
    });
    assert.equal(receiver.requests, 40);
    await receiver.close();
  });
});
