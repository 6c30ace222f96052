import type { Db } from '@posthorn/core/platform/database/db.ts';

const CHUNK = 500_000;
const DAYS = 30;

/**
 * Fills a database with a month's data of a busy installation: `rows` messages over 30 days and all the given
 * instances, the idempotency keys of the last 72 hours, with the contents of the last 24, and a guard row for each
 * contact.
 */
export async function fillMessages(
  db: Db,
  options: { companyId: number; instanceIds: readonly string[]; rows: number },
): Promise<void> {
  const { companyId, instanceIds, rows } = options;
  let filled = 0;
  const fill = async () => {
    while (filled < rows) {
      const from = filled;
      filled = Math.min(rows, from + CHUNK);
      await db.query(FILL_MESSAGES, [from, filled - 1, rows, companyId, instanceIds, DAYS]);
    }
  };
  await Promise.all([fill(), fill()]);
  await db.query(FILL_KEYS, [Math.round((rows * 3) / DAYS), Math.round(rows / DAYS)]);
  await db.query(FILL_GUARDS, [companyId, instanceIds, Math.round(rows / 50)]);
  for (const table of ['messages', 'idempotency_keys', 'chat_guards']) {
    await db.query(`VACUUM (ANALYZE) ${table}`);
  }
  await db.query('CHECKPOINT');
}

/** Fills an instance that was last used before the days of {@link fillMessages}. */
export async function fillQuiet(
  db: Db,
  options: { companyId: number; instanceId: string; rows: number },
): Promise<void> {
  const { companyId, instanceId, rows } = options;
  await db.query(FILL_QUIET, [companyId, instanceId, rows, DAYS]);
  await db.query('VACUUM (ANALYZE) messages');
}

const FILL_QUIET = `
INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
SELECT uuidv7(made - now()), $1, $2, 'outbound', 'text', '5531' || lpad((n / 50)::text, 9, '0') || '@s.whatsapp.net',
       'read', jsonb_build_object('text', 'Your order ' || n || ' has left our warehouse.'), made
FROM (SELECT n, now() - make_interval(days => $4::integer, secs => $3 - n) AS made
      FROM generate_series(1, $3::integer) AS n) AS old`;

const FILL_MESSAGES = `
INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, idempotency_key,
                      created_at, sent_at, delivered_at, read_at)
SELECT uuidv7(made - now()), $4, ($5::uuid[])[1 + n % cardinality($5::uuid[])], 'outbound', 'text',
       '5511' || lpad((n % ($3 / 50 + 1))::text, 9, '0') || '@s.whatsapp.net', 'read',
       jsonb_build_object('text', 'Your order ' || n || ' has left our warehouse and arrives tomorrow.'),
       'old-' || n, made, made, made, made
FROM (SELECT n, now() - make_interval(secs => ($3 - n)::double precision * $6 * 86400 / $3) AS made
      FROM generate_series($1::bigint, $2::bigint) AS n) AS old`;

const FILL_KEYS = `
INSERT INTO idempotency_keys (id, body_hash, message_id, task_id, created_at, content_id)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now() - interval '1 hour',
       CASE WHEN n <= $2::integer THEN gen_random_uuid() END
FROM generate_series(1, $1::integer) AS n`;

const FILL_GUARDS = `
INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
SELECT ($2::uuid[])[1 + n % cardinality($2::uuid[])], '5511' || lpad(n::text, 9, '0') || '@s.whatsapp.net', $1, 1, 10, now()
FROM generate_series(1, $3::integer) AS n`;
