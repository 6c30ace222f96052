import assert from 'node:assert/strict';
import { test } from 'node:test';
import { releaseWritten } from '@posthorn/worker/webhooks/claim-deliveries.ts';
import { recordAttempts } from '@posthorn/worker/webhooks/record-attempts.ts';
import { someoneWaits } from '../support/locks.ts';
import { startTestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, pendingOf, seedWebhook, successOf } from './support.ts';

test('a webhook can be deleted while results of its deliveries are recorded', async () => {
  const messaging = await startTestMessaging();
  try {
    const { db } = messaging.parts;
    const { companyId, apiKey } = await seedCompany(db);
    const { id } = await seedWebhook(db, companyId, 'http://127.0.0.1:9/');
    await emitEvents(messaging.parts, companyId, 3);
    const { rows } = await db.query<{ id: number }>(
      'SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id',
      [id],
    );
    const [first, second, third] = rows.map((row) => row.id) as [number, number, number];
    // The row of a delivery that failed once stands behind the others in the table.
    const failure = { errorClass: 'server_5xx' as const, statusCode: 500, nextAttemptAt: new Date() };
    await recordAttempts(db, [{ ...successOf(first), ...failure }]);
    let deleting: ReturnType<typeof messaging.call> | undefined;
    let recording: Promise<void> | undefined;
    await db.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM webhook_deliveries WHERE id = $1 FOR UPDATE', [third]);
      deleting = messaging.call('DELETE', `/v1/webhooks/${id}`, { key: apiKey });
      await waitFor(() => someoneWaits(db));
      recording = recordAttempts(db, [{ ...successOf(first), attempt: 2 }, successOf(second)]);
      recording.catch(() => undefined);
      await waitFor(() => someoneWaits(db, 2));
    });
    await recording;
    assert.equal((await deleting)!.status, 204);
    assert.equal(await pendingOf(db, id), 0);
  } finally {
    await messaging.close();
  }
});

test('a webhook can be deleted while deliveries are released of which it was unknown whether they are written', async () => {
  const messaging = await startTestMessaging();
  try {
    const { db } = messaging.parts;
    const { companyId, apiKey } = await seedCompany(db);
    const { id } = await seedWebhook(db, companyId, 'http://127.0.0.1:9/');
    const events = await emitEvents(messaging.parts, companyId, 3);
    const { rows } = await db.query<{ id: number }>(
      'SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id',
      [id],
    );
    const [first, second, third] = rows.map((row) => row.id) as [number, number, number];
    const lease = { until: new Date(Date.now() + 60_000), worker: null };
    // The last one stands before the others in the table, as where room in it is used again.
    const claim = 'UPDATE webhook_deliveries SET leased_until = $2, next_attempt_at = now() WHERE id = $1';
    for (const delivery of [third, first, second]) await db.query(claim, [delivery, lease.until]);
    let deleting: ReturnType<typeof messaging.call> | undefined;
    let releasing: Promise<boolean> | undefined;
    await db.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM webhook_deliveries WHERE id = $1 FOR UPDATE', [second]);
      deleting = messaging.call('DELETE', `/v1/webhooks/${id}`, { key: apiKey });
      await waitFor(() => someoneWaits(db));
      const eventIds = events.map(({ eventId }) => eventId);
      releasing = releaseWritten(db, eventIds, lease);
      releasing.catch(() => undefined);
      await waitFor(() => someoneWaits(db, 2));
    });
    assert.equal(await releasing, false);
    assert.equal((await deleting)!.status, 204);
  } finally {
    await messaging.close();
  }
});
