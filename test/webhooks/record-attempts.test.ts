import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { recordAttempts } from '@posthorn/core/webhooks/delivery/record-attempts.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, logsOf, pendingOf, seedWebhook, successOf } from './support.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

for (const count of [1, 2, 3, 40])
  test(`a text that ends in half a surrogate pair is recorded, among ${count}`, async () => {
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
      rows.map((row, nth) => ({ ...successOf(row.id), response: nth === 0 ? `cut ${half}` : 'ok' })),
    );
    assert.equal(await pendingOf(parts.db, id), 0);
    const responses = (await logsOf(parts.db, id)).map(({ response }) => response);
    assert.deepEqual(responses.toSorted(), ['cut \ufffd', ...Array(count - 1).fill('ok')].toSorted());
  });
