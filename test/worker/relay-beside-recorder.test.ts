import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { createProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { markPublished } from '@posthorn/core/sending/publish-outbox.ts';
import { someoneWaits } from '../support/locks.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('the relay and a worker that ends the same sends in another order never wait for each other in a circle', async () => {
  const { companyId } = await seedCompany(parts.db);
  const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
  const shard = shardOf(instanceId, DEFAULT_SHARDS);
  const found = await parts.db.query<Lease>('SELECT shard, epoch FROM shards WHERE shard = $1', [shard]);
  const lease = found.rows[0]!;
  const ids = [newId(), newId(), newId()] as const;
  const seqs: number[] = [];
  for (const [nth, id] of ids.entries()) {
    await parts.db.query(
      `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
       VALUES ($1, $2, $3, 'outbound', 'text', $4, 'queued', '{"text":"hi"}', now())`,
      [id, companyId, instanceId, `551198765432${nth}@s.whatsapp.net`],
    );
    const { rows } = await parts.db.query<{ seq: number }>(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
       VALUES ($1, $2, $3, $4, 'text', $1, now()) RETURNING seq`,
      [id, companyId, instanceId, shard],
    );
    seqs.push(rows[0]!.seq);
  }
  const [first, between, last] = ids;
  let marked: Promise<void> | undefined;
  let recorded: Promise<unknown> | undefined;
  await parts.db.transaction(async (sql) => {
    // As somebody else holds a task for a moment.
    await sql.query('SELECT 1 FROM outbox WHERE task_id = $1 FOR UPDATE', [between]);
    let isMarked = false;
    marked = parts.db
      .transaction((client) => markPublished(client, seqs, parts.clock.now()))
      .finally(() => (isMarked = true));
    await waitFor(async () => isMarked || (await someoneWaits(parts.db, 1)));
    const recorder = createProgressRecorder(parts);
    let isRecorded = false;
    recorded = Promise.all(
      [last, first].map((messageId) => recorder.push({ messageId, lease, to: 'sent', at: new Date() })),
    ).finally(() => (isRecorded = true));
    await waitFor(async () => isRecorded || (await someoneWaits(parts.db, isMarked ? 1 : 2)));
  });
  await Promise.all([marked, recorded]);
  const { rows } = await parts.db.query('SELECT task_id FROM outbox WHERE instance_id = $1', [instanceId]);
  assert.deepEqual(rows, [{ task_id: between }]);
  const { rows: ended } = await parts.db.query<{ deadlocks: number }>(
    'SELECT pg_stat_force_next_flush(), (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()) AS deadlocks',
  );
  assert.equal(Number(ended[0]!.deadlocks), 0);
});
