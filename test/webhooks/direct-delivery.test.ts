import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { webhookNotification } from '@posthorn/core/webhooks/notifications.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { logsOf, pendingOf, seedWebhook, startReceiver } from './support.ts';
import { idsOf, SOON_MS, startWarm } from './warm-dispatcher.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

describe('deliveries of events that the process of their dispatcher writes', () => {
  test('are made though nobody was notified, with the bytes that a retry sends', async (t) => {
    let status = 500;
    const warm = await startWarm(parts, t, { answer: (_req, res) => res.writeHead(status).end() });
    const event = warm.event({
      type: 'message.sent',
      data: { zeta: 'ü😀"\\\n', a: { b: [1, 2.5, null], aa: true }, n: 1e21 },
    });
    await warm.tell([event]);
    await waitFor(() => warm.receiver.requests === 2, SOON_MS);
    assert.ok(!warm.notified.includes('deliveries'), 'nobody else has to look');
    assert.ok(warm.notified.includes('events'), 'the streams do');
    await waitFor(async () => (await logsOf(parts.db, warm.webhook.id)).length === 2, SOON_MS);
    status = 200;
    await parts.db.query('UPDATE webhook_deliveries SET next_attempt_at = created_at WHERE webhook_id = $1', [
      warm.webhook.id,
    ]);
    parts.bus.notify('deliveries', 'retries');
    await warm.isDone();
    const bodies = warm.receiver.received
      .filter(({ headers }) => headers['webhook-id'] === event.eventId)
      .map(({ body }) => body);
    assert.equal(bodies.length, 2);
    assert.equal(bodies[0], bodies[1]);
    assert.deepEqual(JSON.parse(bodies[0]!).data, event.data);
  });

  test('go only to the webhooks that want them: enabled, and of the instance or the company', async (t) => {
    const warm = await startWarm(parts, t);
    const other = await seedCompany(parts.db);
    const { companyId } = warm.webhook;
    const { url } = warm.receiver;
    const instanceId = await seedInstance(parts.db, companyId);
    const unwanted = await Promise.all([
      seedWebhook(parts.db, companyId, `${url}/off`, { enabled: false }),
      seedWebhook(parts.db, companyId, `${url}/instance`, { instanceId }),
      seedWebhook(parts.db, companyId, `${url}/pattern`, { patterns: ['group.*'] }),
      seedWebhook(parts.db, other.companyId, `${url}/other`),
    ]);
    await warm.tell([warm.event({ instanceId: await seedInstance(parts.db, companyId) })]);
    await waitFor(() => warm.receiver.received.length === 1, SOON_MS);
    for (const { id } of unwanted) assert.equal(await pendingOf(parts.db, id), 0);
    assert.equal(warm.receiver.received[0]?.path, '/');
  });

  test('wait while their company is suspended, until it is active again', async (t) => {
    const warm = await startWarm(parts, t, { clock: systemClock });
    const setStatus = (status: string) =>
      parts.db.query('UPDATE companies SET status = $2 WHERE id = $1', [warm.webhook.companyId, status]);
    await setStatus('suspended');
    const event = warm.event();
    await warm.tell([event]);
    const { rows } = await parts.db.query(
      'SELECT leased_until FROM webhook_deliveries WHERE webhook_id = $1',
      [warm.webhook.id],
    );
    assert.deepEqual(rows, [{ leased_until: null }]);
    assert.deepEqual(warm.begun, []);
    await setStatus('active');
    await warm.isDone();
    assert.deepEqual(warm.begun, [event.eventId]);
  });

  test('go to the new address of a webhook that is changed before or while they are written', async (t) => {
    const warm = await startWarm(parts, t, { clock: systemClock });
    const moved = await startReceiver();
    t.after(moved.close);
    const moveTo = (path: string) =>
      parts.db.query('UPDATE webhooks SET url = $2 WHERE id = $1', [warm.webhook.id, `${moved.url}${path}`]);
    const heard = Promise.withResolvers<void>();
    parts.bus.on('deliveries', (payload) => {
      if (payload === webhookNotification(warm.webhook.id)) heard.resolve();
    });
    await moveTo('/before');
    const first = warm.event();
    await warm.tell([first]);
    await waitFor(() => moved.requests === 1, SOON_MS);
    const second = warm.event();
    await warm.tell([second], async (client) => {
      await client.query('SELECT 1');
      await moveTo('/while');
      parts.bus.notify('deliveries', webhookNotification(warm.webhook.id));
      await heard.promise;
    });
    await waitFor(() => moved.requests === 2, SOON_MS);
    assert.deepEqual(
      moved.received.map(({ path, headers }) => [path, headers['webhook-id']]),
      [
        ['/before', first.eventId],
        ['/while', second.eventId],
      ],
    );
    assert.equal(warm.receiver.received.length, 0);
  });

  test('keep their order while the configuration of a changed webhook is read', async (t) => {
    const slow = Promise.withResolvers<void>();
    let reads = 0;
    const db = {
      ...parts.db,
      query: async (query: { name?: string }, values?: unknown[]) => {
        const result = await parts.db.query(query as never, values);
        if (query.name === 'webhooks-for-delivery' && ++reads === 2) await slow.promise;
        return result;
      },
    } as typeof parts.db;
    const warm = await startWarm(parts, t, { db });
    await parts.db.query('UPDATE webhooks SET url = url WHERE id = $1', [warm.webhook.id]);
    const gate = Promise.withResolvers<void>();
    const [first, second] = [warm.event(), warm.event()];
    const later = warm.tell([second], () => gate.promise);
    await warm.tell([first]);
    gate.resolve();
    await later;
    await new Promise((resolve) => setTimeout(resolve, 200));
    slow.resolve();
    await warm.isDone();
    assert.deepEqual(warm.begun, idsOf([first, second]));
  });

  test('are not overtaken by later ones when there was no room for them', async (t) => {
    const warm = await startWarm(parts, t, { clock: systemClock });
    const many = Array.from({ length: 200 }, () => warm.event());
    const few = Array.from({ length: 5 }, () => warm.event());
    await warm.tell(many);
    for (const event of few) await warm.tell([event]);
    await warm.isDone();
    assert.deepEqual(warm.begun, idsOf([...many, ...few]));
  });

  test('are not overtaken by others of the same transaction either', async (t) => {
    const warm = await startWarm(parts, t, { clock: systemClock });
    const many = Array.from({ length: 200 }, () => warm.event());
    const one = warm.event();
    await warm.commit(async (client, tell) => {
      await tell(client, many);
      await tell(client, [one]);
    });
    await warm.isDone();
    assert.deepEqual(warm.begun, idsOf([...many, one]));
  });

  test('that several calls of one transaction announce are made once each and in their order', async (t) => {
    const warm = await startWarm(parts, t);
    const events = Array.from({ length: 6 }, () => warm.event());
    await warm.commit(async (client, tell) => {
      await tell(client, events.slice(0, 2));
      await tell(client, []);
      await tell(client, events.slice(2, 3));
      await tell(client, events.slice(3));
    });
    await warm.isDone();
    assert.deepEqual(warm.begun, idsOf(events));
    assert.ok(!warm.notified.includes('deliveries'));
  });
});
