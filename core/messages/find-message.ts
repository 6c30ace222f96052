import { apiError } from '@posthorn/contract/api-error.ts';
import type { Jid } from '@posthorn/contract/jid.ts';
import type { Message, MessageStatus } from '@posthorn/contract/messaging/message.ts';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { readNames } from '../chats/names.ts';
import { knownJid, type Person, readPhones } from '../lids/read-phones.ts';
import type { Db, Sql } from '../platform/database/db.ts';
import { oneRow } from '../platform/database/one-row.ts';
import { isUuid, messageIdOf, networkIdOf, plainIdOf, sentIdOf } from '../platform/ids.ts';

/**
 * One message of an instance, by the service's UUID or the network's id. 404 INSTANCE_NOT_FOUND or
 * MESSAGE_NOT_FOUND, by what is missing or foreign.
 */
export async function findMessage(
  deps: { db: Db },
  input: { principal: Principal; instanceId: string; messageId: string },
): Promise<Message> {
  const { instanceId } = await requireInstance(deps.db, input.principal, input.instanceId);
  // An outbound message's network id is made of its UUID; an inbound one's is stored.
  const { messageId } = input;
  const id = isUuid(messageId) ? messageId : messageIdOf(messageId.toUpperCase());
  const found = await deps.db.query<MessageRow>({
    name: 'messages-find',
    text: `SELECT * FROM messages WHERE id = $2 AND instance_id = $1
           UNION ALL
           SELECT * FROM messages WHERE network_id IN ($3, upper($3)) AND instance_id = $1
           LIMIT 1`,
    values: [instanceId, id, messageId],
  });
  const row = found.rows[0];
  if (!row) throw apiError('MESSAGE_NOT_FOUND');
  return oneRow(await viewMessages(deps.db, [row]));
}

/** A row of `messages`, as far as it is shown. */
export interface MessageRow {
  id: string;
  instance_id: string;
  direction: 'inbound' | 'outbound';
  type: string;
  chat_jid: string;
  sender_jid: string | null;
  status: MessageStatus;
  content: Record<string, unknown>;
  idempotency_key: string | null;
  network_id: string | null;
  quoted_id: string | null;
  media_id: string | null;
  is_forwarded: boolean;
  forwarding_score: number;
  failed_reason: string | null;
  incomplete_reason: string | null;
  created_at: Date;
  sent_at: Date | null;
  delivered_at: Date | null;
  read_at: Date | null;
  played_at: Date | null;
  edited_at: Date | null;
  deleted_at: Date | null;
}

/**
 * Rows as they are shown: a chat that is known by an anonymous id alone, by its phone once that is learnt, and with the
 * name that it has today.
 */
export async function viewMessages(sql: Sql, rows: readonly MessageRow[]): Promise<Message[]> {
  const chatOf = (row: MessageRow) => ({ instanceId: row.instance_id, jid: row.chat_jid });
  const writerOf = (row: MessageRow) => ({
    instanceId: row.instance_id,
    jid: row.sender_jid ?? row.chat_jid,
  });
  const people = rows.flatMap((row) => [chatOf(row), writerOf(row)]);
  const phoneOf = await readPhones(sql, people);
  const known = (person: Person) => ({ ...person, jid: knownJid(phoneOf, person) });
  const [nameOf, typing] = await Promise.all([readNames(sql, people.map(known)), readTyping(sql, rows)]);
  return rows.map((row) => {
    const chat = known(chatOf(row));
    return messageView(
      row,
      {
        jid: chat.jid,
        phone: phoneOf(chatOf(row)),
        name: nameOf(chat),
        writer: nameOf(known(writerOf(row))),
      },
      typing.get(row.id),
    );
  });
}

/** The messages that are being typed, and until when: at most one of each instance, found by a small index. */
async function readTyping(sql: Sql, rows: readonly MessageRow[]): Promise<ReadonlyMap<string, Date>> {
  const queued = rows.filter(({ status }) => status === 'queued');
  if (queued.length === 0) return new Map();
  const found = await sql.query<{ message_id: string; typing_until: Date }>(
    `SELECT message_id, typing_until FROM outbox
     WHERE instance_id = ANY ($1::uuid[]) AND typing_until > clock_timestamp()`,
    [[...new Set(queued.map((row) => row.instance_id))]],
  );
  return new Map(found.rows.map((row) => [row.message_id, row.typing_until]));
}

function messageView(
  row: MessageRow,
  { jid, phone, name, writer }: { jid: Jid; phone: string; name: string; writer: string },
  typingUntil: Date | undefined,
): Message {
  const outbound = row.direction === 'outbound';
  return {
    message_id: row.id,
    instance_id: row.instance_id,
    // One of our own that another device sent has an id that this device drew.
    network_id: plainIdOf(row.network_id) ?? (outbound ? networkIdOf(row.id) : null),
    chat_jid: jid,
    chat_name: name,
    phone,
    from_jid: outbound ? null : row.sender_jid,
    from_name: outbound ? null : writer,
    direction: row.direction,
    message_type: row.type as Message['message_type'],
    status: row.status,
    content: row.content,
    is_from_me: outbound,
    // Every send of the API has a key.
    source: outbound ? (row.idempotency_key === null ? 'device' : 'api') : null,
    is_forwarded: row.is_forwarded,
    forwarding_score: row.forwarding_score,
    media_id: row.media_id,
    quoted_id: row.quoted_id && (sentIdOf(row.quoted_id) ?? row.quoted_id),
    idempotency_key: row.idempotency_key,
    failed_reason: row.failed_reason,
    typing_until: typingUntil?.toISOString() ?? null,
    incomplete_reason: row.incomplete_reason,
    created_at: row.created_at.toISOString(),
    // The column of a received message has the writer's time.
    sent_at: outbound ? (row.sent_at?.toISOString() ?? null) : null,
    delivered_at: row.delivered_at?.toISOString() ?? null,
    read_at: row.read_at?.toISOString() ?? null,
    played_at: row.played_at?.toISOString() ?? null,
    edited_at: row.edited_at?.toISOString() ?? null,
    deleted_at: row.deleted_at?.toISOString() ?? null,
  };
}
