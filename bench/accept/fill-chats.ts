import type { Db } from '@posthorn/core/platform/database/db.ts';

/** Creates chats, contacts and guards of one large company, spread over its instances. */
export async function fillChats(
  db: Db,
  options: { companyId: number; instanceIds: readonly string[]; chats: number },
): Promise<void> {
  const { companyId, instanceIds, chats } = options;
  for (const fill of [FILL_CHATS, FILL_CONTACTS, FILL_GUARDS])
    await db.query(fill, [companyId, instanceIds, chats]);
  for (const table of ['chats', 'contacts', 'chat_guards']) await db.query(`VACUUM (ANALYZE) ${table}`);
  await db.query('CHECKPOINT');
}

const INSTANCE = '($2::uuid[])[1 + n % cardinality($2::uuid[])]';
const JID = `'5521' || lpad(n::text, 9, '0') || '@s.whatsapp.net'`;
const OF_ALL = 'FROM generate_series(1, $3::integer) AS n';

const FILL_CHATS = `
INSERT INTO chats (instance_id, company_id, chat_jid, unread_count, archived, last_message_at, active_at, updated_at)
SELECT ${INSTANCE}, $1, ${JID}, n % 3, n % 10 = 0, now(), now() - make_interval(secs => n), now() ${OF_ALL}`;

const FILL_CONTACTS = `
INSERT INTO contacts (instance_id, company_id, jid, push_name, updated_at)
SELECT ${INSTANCE}, $1, ${JID}, 'Contact ' || n, now() ${OF_ALL}`;

const FILL_GUARDS = `
INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
SELECT ${INSTANCE}, ${JID}, $1, 1, 10, now() - interval '1 hour' ${OF_ALL}`;
