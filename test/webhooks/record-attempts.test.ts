import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { discardDeliveries, releaseDeliveries } from '@posthorn/worker/webhooks/claim-deliveries.ts';
import { recordAttempts } from '@posthorn/worker/webhooks/record-attempts.ts';
import { someoneWaits } from '../support/locks.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, logsOf, pendingOf, seedWebhook, successOf } from './support.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

for (const count of [1, 2, 3, 40])
  test(`a text with a NUL that ends in half a surrogate pair is recorded, among ${count}`, async () => {
    const { companyId } = await seedCompany(parts.db);
    const { id } = await seedWebhook(parts.db, companyId, 'http://127.0.0.1:9/');
    await emitEvents(parts, companyId, count);
    const { rows } = await parts.db.query<{ id: number }>(
      'SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id',
      [id],
    );
    const half = '😀'.slice(0, 1);
    await recordAttempts(
      parts.db,
      rows.map((row, nth) => ({ ...successOf(row.id), response: nth === 0 ? `cut \0 ${half}` : 'ok' })),
    );
    assert.equal(await pendingOf(parts.db, id), 0);
    const responses = (await logsOf(parts.db, id)).map(({ response }) => response);
    assert.deepEqual(responses.toSorted(), ['cut \ufffd \ufffd', ...Array(count - 1).fill('ok')].toSorted());
  });

test('results lock their deliveries in the order of ids, whatever order they came in', async () => {
  const { companyId } = await seedCompany(parts.db);
  const { id } = await seedWebhook(parts.db, companyId, 'http://127.0.0.1:9/');
  await emitEvents(parts, companyId, 3);
  const { rows } = await parts.db.query<{ id: number }>(
    'SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id',
    [id],
  );
  let recording: Promise<void> | undefined;
  // The locks of a manual retry, and of the deletion of the webhook.
  await parts.db.transaction(async (sql) => {
    const lock = (row: { id: number }) =>
      sql.query('SELECT 1 FROM webhook_deliveries WHERE id = $1 FOR UPDATE', [row.id]);
    await lock(rows[0]!);
    recording = recordAttempts(
      parts.db,
      rows.toReversed().map((row) => successOf(row.id)),
    );
    recording.catch(() => undefined);
    await delay(300);
    await lock(rows[2]!);
  });
  await recording;
  assert.equal(await pendingOf(parts.db, id), 0);
});

test('a failure and a success lock their deliveries in that order too', async () => {
  const { companyId } = await seedCompany(parts.db);
  const { id } = await seedWebhook(parts.db, companyId, 'http://127.0.0.1:9/');
  await emitEvents(parts, companyId, 2);
  const { rows } = await parts.db.query<{ id: number }>(
    'SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id',
    [id],
  );
  const [failed, done] = rows.map((row) => row.id) as [number, number];
  let recording: Promise<void> | undefined;
  // The locks of a manual retry.
  await parts.db.transaction(async (sql) => {
    const lock = (deliveryId: number) =>
      sql.query('SELECT 1 FROM webhook_deliveries WHERE id = $1 FOR UPDATE', [deliveryId]);
    await lock(failed);
    recording = recordAttempts(parts.db, [
      { ...successOf(failed), errorClass: 'server_5xx', statusCode: 500, nextAttemptAt: new Date() },
      successOf(done),
    ]);
    recording.catch(() => undefined);
    await waitFor(() => someoneWaits(parts.db));
    await lock(done);
  });
  await recording;
  assert.equal(await pendingOf(parts.db, id), 1);
});

test('deliveries that are released or dropped lock in that order too', async () => {
  const hot = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'order', plans: 'indexed' });
  const { companyId } = await seedCompany(parts.db);
  for (const end of [
    (ids: number[]) => releaseDeliveries(hot, ids, null),
    (ids: number[]) => discardDeliveries(hot, ids),
  ]) {
    const { id } = await seedWebhook(parts.db, companyId, 'http://127.0.0.1:9/');
    await emitEvents(parts, companyId, 2);
    const { rows } = await parts.db.query<{ id: number }>(
      'SELECT id FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id',
      [id],
    );
    const [first, second] = rows.map((row) => row.id) as [number, number];
    // The row of a delivery that failed once stands behind the others in the table.
    const failure = { errorClass: 'server_5xx' as const, statusCode: 500, nextAttemptAt: new Date() };
    await recordAttempts(parts.db, [{ ...successOf(first), ...failure }]);
    let ending: Promise<void> | undefined;
    // The locks of a manual retry.
    await parts.db.transaction(async (sql) => {
      const lock = (deliveryId: number) =>
        sql.query('SELECT 1 FROM webhook_deliveries WHERE id = $1 FOR UPDATE', [deliveryId]);
      await lock(first);
      ending = end([first, second]);
      ending.catch(() => undefined);
      await waitFor(() => someoneWaits(parts.db));
      await lock(second);
    });
    await ending;
    await parts.db.query('DELETE FROM webhooks WHERE id = $1', [id]);
  }
  await hot.close();
});
