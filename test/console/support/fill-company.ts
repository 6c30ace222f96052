import type { Db } from '@posthorn/core/platform/database/db.ts';

export interface Filling {
  messages: number;
  chats: number;
  deliveries: number;
  /** How many of the messages belong to the chat with the latest activity. */
  ofOneChat: number;
}

/** Fills an instance and a webhook of a company with the data of a busy year, the newest a moment ago. */
export async function fillCompany(
  db: Db,
  at: { instanceId: string; webhookId: number },
  { messages, chats, deliveries, ofOneChat }: Filling,
): Promise<void> {
  const { instanceId, webhookId } = at;
  await db.query(FILL_MESSAGES, [instanceId, messages, chats, ofOneChat]);
  await db.query(FILL_CHATS, [instanceId, chats]);
  await db.query(FILL_CONTACTS, [instanceId, chats]);
  await db.query(FILL_DELIVERIES, [instanceId, webhookId, deliveries]);
  for (const table of ['messages', 'chats', 'contacts', 'webhook_delivery_logs'])
    await db.query(`VACUUM (ANALYZE) ${table}`);
}

const COMPANY = '(SELECT company_id FROM instances WHERE id = $1::uuid)';
const jid = (n: string) => `'5521' || lpad((${n})::text, 9, '0') || '@s.whatsapp.net'`;

const FILL_MESSAGES = `
INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, idempotency_key,
                      created_at, sent_at, delivered_at, read_at)
SELECT uuidv7(made - now()), ${COMPANY}, $1::uuid, CASE WHEN n % 3 = 0 THEN 'inbound' ELSE 'outbound' END, 'text',
       ${jid('CASE WHEN n <= $4 THEN 1 ELSE 1 + n % $3 END')}, CASE WHEN n % 3 = 0 THEN 'received' ELSE 'read' END,
       jsonb_build_object('text', 'Order ' || n || ' has left our warehouse and arrives tomorrow.'),
       'old-' || n, made, made, made, made
FROM (SELECT n, now() - make_interval(secs => n * 60) AS made FROM generate_series(1, $2::integer) AS n) AS old`;

const FILL_CHATS = `
INSERT INTO chats (instance_id, company_id, chat_jid, unread_count, last_message_at, active_at, updated_at)
SELECT $1::uuid, ${COMPANY}, ${jid('n')}, n % 3, now(), now() - make_interval(secs => n), now()
FROM generate_series(1, $2::integer) AS n`;

const FILL_CONTACTS = `
INSERT INTO contacts (instance_id, company_id, jid, push_name, updated_at)
SELECT $1::uuid, ${COMPANY}, ${jid('n')}, 'Contact ' || n, now() FROM generate_series(1, $2::integer) AS n`;

const FILL_DELIVERIES = `
INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, event_id, event_type, event_created_at,
  instance_id, attempt, success, status_code, error_class, response, latency_ms, created_at)
SELECT ${COMPANY}, $2::integer, 'https://hooks.example.test/', gen_random_uuid(), 'message.sent', made, $1::uuid, 1,
       n % 5 > 0, CASE WHEN n % 5 > 0 THEN 200 ELSE 500 END, CASE WHEN n % 5 > 0 THEN '' ELSE 'server_error' END, '', 12, made
FROM (SELECT n, now() - make_interval(secs => n) AS made FROM generate_series(1, $3::integer) AS n) AS old`;
