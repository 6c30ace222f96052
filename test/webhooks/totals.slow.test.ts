import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { seedWebhook } from './support.ts';

const TOTAL_MAX = 10_000;

describe('the totals of logs', () => {
  let api: TestMessaging;
  let company: SeededCompany;
  let instanceId: string;
  let webhookId: number;
  const eventId = randomUUID();
  before(async () => {
    api = await startTestMessaging();
    company = await seedCompany(api.parts.db);
    instanceId = await seedInstance(api.parts.db, company.companyId);
    webhookId = (await seedWebhook(api.parts.db, company.companyId, 'https://hooks.example.test/')).id;
    await addLogs(TOTAL_MAX);
  });
  after(() => api.close());

  /** Attempts of events of their own, just now. */
  async function addLogs(count: number, event: string | null = null): Promise<void> {
    await api.parts.db.query(
      `INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, event_id, event_type, event_created_at,
         instance_id, attempt, success, status_code, error_class, response, latency_ms, created_at)
       SELECT $1, $2, 'https://hooks.example.test/', coalesce($3, gen_random_uuid()), 'message.sent', $4, $5, 1, true,
              200, '', '', 1, $4 FROM generate_series(1, $6)`,
      [company.companyId, webhookId, event, api.parts.clock.now(), instanceId, count],
    );
  }

  const LISTS = () => [
    '/v1/webhooks/events',
    `/v1/webhooks/instance-events?instance_id=${instanceId}`,
    '/v1/webhooks/company-delivery-logs',
    '/v1/webhooks/delivery-logs',
    `/v1/webhooks/${webhookId}/logs`,
  ];

  async function totals(): Promise<unknown[]> {
    const answers = [];
    for (const path of LISTS()) {
      const { body } = await api.call('GET', path, { key: company.apiKey });
      answers.push([path, body.total, body.total_capped]);
    }
    return answers;
  }

  test('are true up to the bound, and above it the answer says that there is more', async () => {
    assert.deepEqual(
      await totals(),
      LISTS().map((path) => [path, TOTAL_MAX, undefined]),
    );
    await addLogs(1);
    assert.deepEqual(
      await totals(),
      LISTS().map((path) => [path, TOTAL_MAX, true]),
    );
  });

  test('for one event count the logs that are shown, and are capped where those are', async () => {
    await addLogs(1_000, eventId);
    const ask = async () =>
      (await api.call('GET', `/v1/event-deliveries?event_id=${eventId}`, { key: company.apiKey })).body;
    const whole = await ask();
    assert.deepEqual([whole.total, whole.logs.length, whole.total_capped], [1_000, 1_000, undefined]);
    await addLogs(1, eventId);
    const cut = await ask();
    assert.deepEqual([cut.total, cut.logs.length, cut.total_capped], [1_000, 1_000, true]);
  });
});
