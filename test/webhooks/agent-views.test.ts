/** WHK-25: path and query of a webhook's address may contain a token, which agents must not see. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { z } from 'zod/v4';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { seedWebhook } from './support.ts';

const ORIGIN = 'https://hooks.example.test:8443';
const ADDRESS = `${ORIGIN}/services/T0KEN?secret=T0KEN`;

let messaging: TestMessaging;
before(async () => {
  messaging = await startTestMessaging();
});
after(() => messaging.close());

/** Every route whose answer has the address of a webhook, by the contract. */
function routesWithAddress(): { method: string; path: string; access: string }[] {
  return listRoutes(messagingContract).flatMap(({ route }) => {
    const hasAddress = Object.entries(route.responses).some(
      ([status, schema]) =>
        Number(status) < 300 &&
        schema instanceof z.ZodType &&
        (/"webhook_url":/.test(schemaText(schema)) ||
          (/\/webhooks\b/.test(route.path) && /"url":/.test(schemaText(schema)))),
    );
    return hasAddress ? [{ method: route.method, path: route.path, access: metaOf(route).access }] : [];
  });
}

const schemaText = (schema: z.ZodType) =>
  JSON.stringify(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }));

interface Seeded extends SeededCompany {
  instanceId: string;
  webhookId: number;
  eventId: string;
  logId: number;
}

/** A company with one failed delivery, and a key of the role. */
async function seedDelivery(
  role: 'owner' | 'admin' | 'agent',
  event: { type: string; data: object; response?: string } = { type: 'message.sent', data: {} },
): Promise<Seeded> {
  const { db } = messaging.parts;
  const company = await seedCompany(db, { role });
  const instanceId = await seedInstance(db, company.companyId);
  const { id: webhookId } = await seedWebhook(db, company.companyId, ADDRESS);
  const eventId = newId();
  await db.query(
    `INSERT INTO events (tx, event_id, company_id, instance_id, type, data, created_at)
     VALUES (event_tx(), $1, $2, $3, $4, $5, now())`,
    [eventId, company.companyId, instanceId, event.type, event.data],
  );
  const { rows } = await db.query<{ id: number }>(
    `INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, instance_id, event_id, event_type,
       event_created_at, attempt, success, status_code, error_class, response, latency_ms, created_at)
     SELECT company_id, $1, $2, instance_id, event_id, type, created_at, 3, false, 404, 'permanent_4xx', $4, 1, now()
     FROM events WHERE event_id = $3 RETURNING id`,
    [webhookId, ADDRESS, eventId, event.response ?? ''],
  );
  return { ...company, instanceId, webhookId, eventId, logId: rows[0]!.id };
}

for (const role of ['owner', 'admin', 'agent'] as const)
  test(`${role}: every report shows ${role === 'agent' ? 'the origin alone' : 'the whole address'}`, async () => {
    const seeded = await seedDelivery(role);
    const proofs = [
      ['key', { key: seeded.apiKey }],
      ['JWT', { jwt: await messaging.jwtOf(seeded) }],
    ] as const;
    const reports = routesWithAddress().filter(({ method }) => method === 'GET');
    assert.ok(reports.length >= 9, `${reports.length} routes`);
    for (const { path, access } of reports) {
      const query = `?event_id=${seeded.eventId}&instance_id=${seeded.instanceId}`;
      const asked = path.replace(':webhookId', String(seeded.webhookId)) + query;
      for (const [name, proof] of proofs) {
        const answer = await messaging.call('GET', asked, proof);
        if (role === 'agent' && access !== 'all') {
          assert.equal(answer.status, 403, `${path} with a ${name}`);
          continue;
        }
        assert.equal(answer.status, 200, `${path} with a ${name}: ${answer.text}`);
        assert.ok(
          answer.text.includes(JSON.stringify(role === 'agent' ? ORIGIN : ADDRESS)),
          `${path}: ${answer.text}`,
        );
        if (role === 'agent') assert.ok(!answer.text.includes('T0KEN'), `${path} with a ${name}`);
      }
    }
  });

for (const role of ['admin', 'agent'] as const)
  test(`${role}: the reports show ${role === 'agent' ? 'no code' : 'the code'} that pairs a phone`, async () => {
    const data = { qr: 'a code to scan' };
    const seeded = await seedDelivery(role, { type: 'instance.qr_updated', data });
    const logs = ['/v1/event-deliveries', '/v1/webhooks/company-delivery-logs', '/v1/webhooks/delivery-logs'];
    for (const path of logs) {
      const { status, text } = await messaging.call('GET', `${path}?event_id=${seeded.eventId}`, {
        key: seeded.apiKey,
      });
      assert.equal(status, 200, text);
      assert.match(text, /instance\.qr_updated/);
      assert.equal(text.includes(data.qr), role === 'admin', text);
    }
  });

for (const role of ['admin', 'agent'] as const)
  test(`${role}: the reports show ${role === 'agent' ? 'nothing' : 'the answer'} of a receiver that repeats such a code`, async () => {
    const data = { qr: 'a code to scan' };
    const response = `not found: ${JSON.stringify(data)}`;
    const seeded = await seedDelivery(role, { type: 'instance.qr_updated', data, response });
    const query = `event_id=${seeded.eventId}&instance_id=${seeded.instanceId}`;
    let shown = 0;
    for (const { method, path } of routesWithAddress()) {
      if (method !== 'GET' || path.includes(':')) continue;
      const { status, text } = await messaging.call('GET', `${path}?${query}`, { key: seeded.apiKey });
      if (status === 403 || !text.includes('"response"')) continue;
      shown += 1;
      assert.match(text, /instance\.qr_updated/, path);
      assert.equal(text.includes(data.qr), role === 'admin', `${path}: ${text}`);
    }
    assert.ok(shown >= 6, `${shown} reports`);
  });

for (const [response, isShown] of [
  ['no such flow', true],
  ['<pre>Cannot POST /services/T0KEN</pre>', false],
  ['{"status":404,"path":"/services/T0KEN"}', false],
  ['the secret T0KEN is of nobody', false],
] as const)
  test(`an agent sees ${isShown ? 'the answer' : 'nothing of the answer'} of a receiver: ${response}`, async () => {
    const seeded = await seedDelivery('agent', { type: 'message.sent', data: {}, response });
    const query = `event_id=${seeded.eventId}&instance_id=${seeded.instanceId}`;
    for (const path of ['/v1/event-deliveries', '/v1/webhooks/events', '/v1/webhooks/stuck']) {
      const { status, text } = await messaging.call('GET', `${path}?${query}`, { key: seeded.apiKey });
      assert.equal(status, 200, text);
      assert.ok(text.includes(`"response":${JSON.stringify(isShown ? response : '')}`), `${path}: ${text}`);
    }
  });

test('owners and admins deliver again; agents may not', async () => {
  for (const [role, status] of [
    ['owner', 202],
    ['admin', 202],
    ['agent', 403],
  ] as const) {
    const { apiKey: key, webhookId, logId } = await seedDelivery(role);
    const many = await messaging.call('POST', '/v1/webhooks/retry-bulk', { key, body: { log_ids: [logId] } });
    const one = await messaging.call('POST', `/v1/webhooks/${webhookId}/logs/${logId}/retry`, { key });
    assert.deepEqual([many.status, one.status], [status, status], role);
    if (status === 403) assert.equal(many.body.error_code, 'INSUFFICIENT_PERMISSIONS');
  }
});
