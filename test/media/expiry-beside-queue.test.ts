import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeExpired } from '@posthorn/core/media/remove-expired.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createParts } from '../support/parts.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const QUEUED = 300;
const EXPIRED = 50;

test('the removal of expired media reads the queue of an instance once, and leaves what a send in it waits for', async () => {
  const parts = await createParts();
  // One connection, whose statistics are those of the removal.
  const db = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'job', plans: 'indexed' });
  try {
    const { companyId } = await seedCompany(db);
    const instanceId = await seedInstance(db, companyId, { state: 'DISCONNECTED' });
    const media = await db.query<{ id: string }>(
      `INSERT INTO media (id, company_id, instance_id, storage_key, mime_type, size_bytes, sha256, source, file_name, created_at, expires_at)
       SELECT gen_random_uuid(), $1, $2, n::text, 'image/png', 1, sha256(n::text::bytea), 'url-cache', '', now(), $4
       FROM generate_series(1, $3) n RETURNING id`,
      [companyId, instanceId, EXPIRED, new Date(parts.clock.now().getTime() - 1_000)],
    );
    const waitedFor = media.rows[0]!.id;
    await db.query(
      `WITH stored AS (
         INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, media_id, created_at)
         SELECT gen_random_uuid(), $1, $2, 'outbound', 'image', '', 'queued', '{}', CASE WHEN n = 1 THEN $4::uuid END, now()
         FROM generate_series(1, $3) n RETURNING id
       )
       INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
       SELECT id, $1, $2, 0, 'image', id, now() FROM stored`,
      [companyId, instanceId, QUEUED, waitedFor],
    );
    const fetched = async () => {
      await db.query('SELECT pg_stat_force_next_flush()');
      const { rows } = await db.query<{ idx_tup_fetch: number }>(
        `SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'messages'`,
      );
      return rows[0]!.idx_tup_fetch;
    };
    const before = await fetched();
    const { signal } = new AbortController();
    assert.equal(await removeExpired({ db, clock: parts.clock, signal }), EXPIRED - 1);
    assert.ok((await fetched()) - before <= 2 * QUEUED);
    assert.deepEqual((await db.query('SELECT id FROM media')).rows, [{ id: waitedFor }]);
  } finally {
    await db.close();
    await parts.close();
  }
});
