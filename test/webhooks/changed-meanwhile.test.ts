import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { disableGoneWebhook } from '@posthorn/worker/webhooks/record-attempts.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { seedWebhook } from './support.ts';

let messaging: TestMessaging;
let company: SeededCompany;
before(async () => {
  messaging = await startTestMessaging({ ALLOW_PRIVATE_WEBHOOKS: 'true' });
  company = await seedCompany(messaging.parts.db);
});
after(() => messaging.close());

const call = (method: string, path: string, body: object) =>
  messaging.call(method, path, { key: company.apiKey, body });

/** Waits until this many statements wait for a lock of another transaction. */
async function waitForLocks(count: number): Promise<void> {
  await waitFor(async () => {
    const { rowCount } = await messaging.parts.db.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount === count;
  });
}

test('a webhook for an instance that is just being deleted is refused as one for an unknown instance', async () => {
  const { db } = messaging.parts;
  const instance_id = await seedInstance(db, company.companyId);
  const { id } = await seedWebhook(db, company.companyId, 'http://127.0.0.1:1/');
  const { asked } = await db.transaction(async (sql) => {
    await sql.query('DELETE FROM instances WHERE id = $1', [instance_id]);
    const requests = [
      call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:1/', instance_id }),
      call('PATCH', `/v1/webhooks/${id}`, { instance_id }),
    ];
    await waitForLocks(requests.length);
    return { asked: requests };
  });
  for (const answer of await Promise.all(asked))
    assert.deepEqual([answer.status, answer.body.error_code], [404, 'INSTANCE_NOT_FOUND']);
});

test('a webhook that is enabled with a new address while its old one answers 410 stays enabled, as answered', async () => {
  const { db } = messaging.parts;
  const old = 'http://127.0.0.1:1/old';
  const { id: webhookId } = await seedWebhook(db, company.companyId, old);
  const { moving } = await db.transaction(async (sql) => {
    await disableGoneWebhook(sql, { webhookId, url: old, at: new Date() });
    const request = call('PATCH', `/v1/webhooks/${webhookId}`, {
      url: 'http://127.0.0.1:1/new',
      enabled: true,
    });
    await waitForLocks(1);
    return { moving: request };
  });
  const { body } = await moving;
  const { body: stored } = await messaging.call('GET', `/v1/webhooks/${webhookId}`, { key: company.apiKey });
  assert.deepEqual(stored, body);
  assert.deepEqual([stored.enabled, stored.disabled_reason], [true, null]);
});
