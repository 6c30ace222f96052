import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { purgeCompany } from '@posthorn/core/accounts/company/purge-company.ts';
import { createDb, type Sql } from '@posthorn/core/platform/database/db.ts';
import { createParts } from '../support/parts.ts';
import { seedCompany } from '../support/seed.ts';

/** More than one batch. */
const MESSAGES = 22_000;

async function seedMessages(sql: Sql, companyId: number, count: number): Promise<void> {
  await sql.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     SELECT gen_random_uuid(), $1, $2, 'inbound', 'text', '', 'received', '{}', now() FROM generate_series(1, $3)`,
    [companyId, randomUUID(), count],
  );
}

test('a purge finds the messages of deleted instances, and does not read those of all companies for it', async () => {
  const parts = await createParts();
  // One connection, whose statistics are those of the purge.
  const db = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'purge', plans: 'indexed' });
  try {
    const [own, other] = [await seedCompany(db), await seedCompany(db)];
    await seedMessages(db, other.companyId, 5_000);
    await seedMessages(db, own.companyId, MESSAGES);
    await db.query(`UPDATE companies SET status = 'deleted', deleted_at = now() WHERE id = $1`, [
      own.companyId,
    ]);
    const scans = async () => {
      await db.query('SELECT pg_stat_force_next_flush()');
      const { rows } = await db.query<{ seq_scan: number }>(
        `SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'messages'`,
      );
      return rows[0]!.seq_scan;
    };
    const before = await scans();
    await purgeCompany({ db }, own.companyId);
    const read = (await scans()) - before;
    assert.equal(read, 0, `${read} scans`);
    const { rows } = await db.query<{ company_id: number; count: number }>(
      'SELECT company_id, count(*)::integer AS count FROM messages GROUP BY company_id',
    );
    assert.deepEqual(rows, [{ company_id: other.companyId, count: 5_000 }]);
  } finally {
    await db.close();
    await parts.close();
  }
});
