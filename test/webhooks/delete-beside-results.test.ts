import assert from 'node:assert/strict';
import { test } from 'node:test';
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
