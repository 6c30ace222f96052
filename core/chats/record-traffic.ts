import { type Sql, write } from '../platform/database/db.ts';
import { statementOfRows } from '../platform/database/input-rows.ts';

/** One message that was stored just now, for its chat. */
export interface ChatTraffic {
  companyId: number;
  instanceId: string;
  chatJid: string;
  messageId: string;
  type: string;
  at: Date;
  /** It was received: it counts as unread, unless it is read at once. */
  received?: { senderJid: string; pushName: string };
  /** With it the chat is read up to here: the instance reads by itself, or its user wrote on another device. */
  isRead?: boolean | undefined;
}

/** They belong to another message and move no chat. */
const SILENT: ReadonlySet<string> = new Set(['reaction', 'poll_vote']);

interface Touched {
  companyId: number;
  instanceId: string;
  chatJid: string;
  messageId: string;
  at: Date;
  unread: number;
  isRead: boolean;
}

/**
 * Brings the chats, and the names of who wrote, up to date, in the transaction that stored these messages: each counts
 * once, however often the network repeats it. One statement whatever their number, in one order everywhere, so that
 * two recorders never wait for each other in a ring.
 */
export async function recordChatTraffic(sql: Sql, traffic: readonly ChatTraffic[], now: Date): Promise<void> {
  const chats = chatsOf(traffic);
  const people = peopleOf(traffic);
  if (chats.length === 0 && people.length === 0) return;
  const read = chats.filter(({ isRead }) => isRead);
  // First: what came after the last reading counts.
  if (read.length > 0) {
    await write(sql, { name: 'chats-read-at-once', text: READ, values: [JSON.stringify(read)] });
  }
  await write(
    sql,
    people.length > 0 ? TOUCH_AND_NAME({ chats, people }, { now }) : TOUCH({ chats }, { now }),
  );
}

function chatsOf(traffic: readonly ChatTraffic[]): Touched[] {
  const touched = new Map<string, Touched>();
  for (const { type, received, isRead, companyId, instanceId, chatJid, messageId, at } of traffic) {
    if (SILENT.has(type) || chatJid.endsWith('@broadcast')) continue;
    const key = `${instanceId} ${chatJid}`;
    const known = touched.get(key) ?? {
      ...{ companyId, instanceId, chatJid, messageId, at },
      unread: 0,
      isRead: false,
    };
    if (at >= known.at) Object.assign(known, { messageId, at });
    if (isRead) Object.assign(known, { isRead, unread: 0 });
    else if (received) known.unread += 1;
    touched.set(key, known);
  }
  return [...touched.values()];
}

/** The senders, with the name that each gave last. */
function peopleOf(traffic: readonly ChatTraffic[]) {
  const people = new Map<string, object>();
  for (const { companyId, instanceId, received } of traffic) {
    if (!received?.pushName) continue;
    const { senderJid: jid, pushName } = received;
    people.set(`${instanceId} ${jid}`, { companyId, instanceId, jid, pushName });
  }
  return [...people.values()];
}

/** A row of an instance that was deleted meanwhile would stay for ever. */
const STANDS = 'EXISTS (SELECT 1 FROM instances i WHERE i.id = w."instanceId")';

const CHATS = {
  instanceId: 'uuid',
  companyId: 'integer',
  chatJid: 'text',
  messageId: 'uuid',
  at: 'timestamptz',
  unread: 'integer',
} as const;

const touchSql = ({ chats, now }: { chats: string; now: string }) => `chats AS ${chats}
INSERT INTO chats AS c (instance_id, company_id, chat_jid, unread_count, last_message_id, last_message_at, active_at,
                        updated_at)
SELECT "instanceId", "companyId", "chatJid", unread, "messageId", at, at, ${now}
FROM chats AS w
WHERE ${STANDS}
ORDER BY "instanceId", "chatJid" COLLATE "C"
ON CONFLICT (instance_id, chat_jid) DO UPDATE SET
  unread_count = c.unread_count + excluded.unread_count,
  last_message_id = CASE WHEN (c.last_message_at, c.last_message_id)
                              > (excluded.last_message_at, excluded.last_message_id) THEN c.last_message_id
                    ELSE excluded.last_message_id END,
  last_message_at = greatest(c.last_message_at, excluded.last_message_at),
  active_at = CASE WHEN c.last_message_at IS NULL THEN excluded.active_at
              ELSE greatest(c.active_at, excluded.active_at) END,
  updated_at = excluded.updated_at`;

const TOUCH = statementOfRows({
  name: 'chats-touch',
  sets: { chats: CHATS },
  values: ['now'],
  text: (sql) => `WITH ${touchSql(sql)}`,
});

const TOUCH_AND_NAME = statementOfRows({
  name: 'chats-touch-and-name',
  sets: { chats: CHATS, people: { instanceId: 'uuid', companyId: 'integer', jid: 'text', pushName: 'text' } },
  values: ['now'],
  text: ({ people, ...sql }) => `
WITH people AS ${people}, named AS (
  INSERT INTO contacts AS p (instance_id, company_id, jid, push_name, updated_at)
  SELECT "instanceId", "companyId", jid, "pushName", ${sql.now}
  FROM people AS w
  WHERE ${STANDS}
  ORDER BY "instanceId", jid COLLATE "C"
  ON CONFLICT (instance_id, jid) DO UPDATE SET push_name = excluded.push_name, updated_at = excluded.updated_at
  WHERE p.push_name <> excluded.push_name
), ${touchSql(sql)}`,
});

// Locks in the order of the statements above.
const READ = `
WITH held AS MATERIALIZED (
  SELECT c.instance_id, c.chat_jid
  FROM json_to_recordset($1) AS w ("instanceId" uuid, "chatJid" text)
  JOIN chats c ON c.instance_id = ANY (ARRAY[w."instanceId"]) AND c.chat_jid = w."chatJid"
  WHERE c.unread_count > 0 OR c.marked_unread
  ORDER BY c.instance_id, c.chat_jid COLLATE "C" FOR NO KEY UPDATE OF c
)
UPDATE chats SET unread_count = 0, marked_unread = false
FROM held WHERE chats.instance_id = held.instance_id AND chats.chat_jid = held.chat_jid`;
