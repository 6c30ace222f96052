import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { archiveMessages } from '@posthorn/core/messages/archive-messages.ts';
import { PATIENT_LIMITS } from '@posthorn/core/platform/database/connection-limits.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createParts } from '../support/parts.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const OLD = 1_000;
const QUEUED = 20_000;
/** Ten times as long as each statement takes; one that looks through the queue for each message takes longer. */
const STATEMENT_MS = 10_000;

test('the removal of old messages does not look through the queue of their instance for each, and leaves what is in it', async () => {
  const parts = await createParts();
  const limits = { ...PATIENT_LIMITS, statementMs: STATEMENT_MS };
  const db = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'job', plans: 'indexed', limits });
  try {
    const { companyId } = await seedCompany(db);
    const instanceId = await seedInstance(db, companyId, { state: 'DISCONNECTED' });
    const store = async (count: number) => {
      const { rows } = await db.query<{ id: string }>(
        `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
         SELECT uuidv7(interval '-90 days'), $1, $2, 'outbound', 'text', '', 'queued', '{}', now() - interval '90 days'
         FROM generate_series(1, $3) RETURNING id`,
        [companyId, instanceId, count],
      );
      return rows.map((row) => row.id);
    };
    const queued = await store(QUEUED);
    await store(OLD);
    await db.query(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
       SELECT id, $1, $2, 0, 'text', id, now() FROM unnest($3::uuid[]) AS id`,
      [companyId, instanceId, queued],
    );
    const removed = await archiveMessages({
      ...{ db, clock: parts.clock, storage: null, retentionDays: 30, exceptInstanceId: randomUUID() },
      // Without a storage nothing is written to a file.
      spool: null as never,
      signal: new AbortController().signal,
    });
    assert.equal(removed.messages, OLD);
    const { rows } = await db.query<{ id: string }>('SELECT id FROM messages ORDER BY id');
    assert.deepEqual(
      rows.map((row) => row.id),
      queued.toSorted(),
    );
  } finally {
    await db.close();
    await parts.close();
  }
});
