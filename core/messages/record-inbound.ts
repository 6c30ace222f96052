import { recordChatTraffic } from '../chats/record-traffic.ts';
import { buildEvent } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { createRecorder, type RecorderDeps, type Recording } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/hold-leases.ts';
import { knownJid, type Person, type PhoneBook, readPhones } from '../lids/read-phones.ts';
import type { Coalescer } from '../platform/coalesce.ts';
import { type Sql, write } from '../platform/db.ts';
import { messageIdOf, newId } from '../platform/ids.ts';
import { countUsage } from '../usage/count-usage.ts';
import { lockAcceptOrder } from './accept-sql.ts';
import { afterInbound, newContact } from './guard.ts';
import { inboundFamily, ownIds } from './inbound-content.ts';

/** A message that an instance received, as its session got it. */
export interface Received {
  companyId: number;
  instanceId: string;
  networkId: string;
  chatJid: string;
  senderJid: string;
  pushName: string;
  type: string;
  /** As the driver gives it: ids of other messages in it are the network's. */
  content: Record<string, unknown>;
  quotedId?: string | undefined;
  /** Set when it has media that was stored. */
  mediaId?: string | undefined;
  mimeType?: string | undefined;
  /** Animated stickers. */
  animated?: boolean | undefined;
  /** How often it was forwarded; absent when it carries no mark. */
  forwardingScore?: number | undefined;
  /** Why it is not whole: its media could not be had, or its content not be read. */
  incomplete?: string | undefined;
  /** The instance reads what it receives: it does not count as unread. */
  isRead?: boolean | undefined;
  at: Date;
}

/** What one instance received, in its order: recorded whole or not at all, so that nothing overtakes. */
export interface ReceivedBatch {
  lease: Lease;
  messages: readonly Received[];
}

export type InboundRecorder = Coalescer<ReceivedBatch, Recorded>;

/** Messages in one {@link ReceivedBatch} at most. */
export const RECEIVED_BATCH_MAX = 128;

/**
 * Records what instances receive: the message, its two events, the contact's temperature, its chat
 * and the usage counters in one transaction. The network repeats what was not acknowledged; the pair
 * (instance, network id) is unique, so a repeat changes nothing. Rejects with LeaseLost what was received
 * under a lease that has passed.
 */
export function createInboundRecorder(deps: RecorderDeps): InboundRecorder {
  return createRecorder<ReceivedBatch, PhoneBook>(deps, { maxBatch: 16, read: readPeople, record });
}

async function record(
  { client, now, tell }: Recording,
  current: readonly ReceivedBatch[],
  phoneOf: PhoneBook,
): Promise<void> {
  const arrived = current.flatMap((batch) => batch.messages);
  const messages = arrived.map((received) => ({
    ...received,
    id: newId(),
    // A chat with somebody whose phone is known is one chat, by whichever address they write.
    chatJid: knownJid(phoneOf, { instanceId: received.instanceId, jid: received.chatJid }),
    type: inboundFamily(received.type),
    content: ownIds(received.content),
  }));
  const stored = await client.query<{ id: string }>({
    name: 'messages-inbound-insert',
    text: INSERT,
    values: [JSON.stringify(messages), now],
  });
  const fresh = new Set(stored.rows.map((row) => row.id));
  const received = messages.filter((message) => fresh.has(message.id));
  await warmContacts(client, received, now);
  await recordChatTraffic(
    client,
    received.map(({ id: messageId, senderJid, pushName, isRead = false, ...message }) => {
      const sender = knownJid(phoneOf, { instanceId: message.instanceId, jid: senderJid });
      return { ...message, messageId, received: { senderJid: sender, pushName, isRead } };
    }),
    now,
  );
  await tell(received.flatMap((message) => receivedEvents(message, phoneOf, now)));
  await countUsage(
    client,
    received.map(({ companyId, instanceId }) => ({ companyId, instanceId, what: 'received' as const })),
    now,
  );
}

function readPeople(client: Sql, batches: readonly ReceivedBatch[]): Promise<PhoneBook> {
  const people = batches
    .flatMap((batch) => batch.messages)
    .flatMap(({ instanceId, chatJid, senderJid }): Person[] => [
      { instanceId, jid: senderJid },
      { instanceId, jid: chatJid },
    ]);
  return readPhones(client, people);
}

/** message.received, and the same under the name of its family (EVT-7). */
function receivedEvents(message: Received & { id: string }, phoneOf: PhoneBook, now: Date): NewEvent[] {
  const data: Record<string, unknown> = {
    message_ids: [message.id],
    message_type: message.type,
    chat: message.chatJid,
    phone: phoneOf({ instanceId: message.instanceId, jid: message.senderJid }),
    from: message.senderJid,
    push_name: message.pushName,
    is_from_me: false,
    content: message.content,
    timestamp: message.at.toISOString(),
  };
  if (message.quotedId) data.quoted_id = messageIdOf(message.quotedId) ?? message.quotedId;
  if (message.mediaId) data.media_id = message.mediaId;
  if (message.mimeType) data.mime_type = message.mimeType;
  if (message.animated) data.is_animated = true;
  if (message.incomplete) data.incomplete_reason = message.incomplete;
  if (message.type === 'order' || message.type === 'product') data.detail = message.content;
  if (message.forwardingScore !== undefined) {
    data.is_forwarded = true;
    data.forwarding_score = message.forwardingScore;
  }
  return ['message.received', `${message.type}.received`].map((type) =>
    buildEvent(message, { type, data, now }),
  );
}

/** An answer resets the count of unanswered sends, under the lock that accepts take too. */
async function warmContacts(client: Sql, received: readonly Received[], now: Date): Promise<void> {
  const direct = received.filter(
    (message) => !message.chatJid.endsWith('@g.us') && !message.chatJid.endsWith('@broadcast'),
  );
  if (direct.length === 0) return;
  await lockAcceptOrder(
    client,
    direct.map((message) => message.instanceId),
  );
  const known = await client.query<{ instance_id: string; chat_jid: string; score: number; score_at: Date }>({
    name: 'chat-guards-of-inbound',
    text: `SELECT g.instance_id, g.chat_jid, g.score, g.score_at
           FROM json_to_recordset($1) AS w ("instanceId" uuid, "chatJid" text)
           JOIN chat_guards g ON g.instance_id = ANY (ARRAY[w."instanceId"]) AND g.chat_jid = w."chatJid"`,
    values: [JSON.stringify(direct)],
  });
  const contacts = new Map(
    known.rows.map((row) => [
      `${row.instance_id} ${row.chat_jid}`,
      { outboundConsecutive: 0, score: row.score, scoreAtMs: row.score_at.getTime() },
    ]),
  );
  const warmed = new Map<string, Record<string, unknown>>();
  for (const { instanceId, chatJid, companyId } of direct) {
    const key = `${instanceId} ${chatJid}`;
    const next = afterInbound(contacts.get(key) ?? newContact(now.getTime()), now.getTime());
    contacts.set(key, next);
    warmed.set(key, { instanceId, chatJid, companyId, score: next.score });
  }
  await write(client, {
    name: 'chat-guards-warm',
    text: WARM,
    values: [JSON.stringify([...warmed.values()]), now],
  });
}

const INSERT = `
INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, sender_jid, status, content,
                      network_id, quoted_id, push_name, media_id, is_forwarded, forwarding_score, incomplete_reason,
                      created_at)
SELECT id, "companyId", "instanceId", 'inbound', type, "chatJid", "senderJid", 'received', content,
       "networkId", "quotedId", "pushName", "mediaId", "forwardingScore" IS NOT NULL,
       coalesce("forwardingScore", 0), incomplete, $2
FROM json_to_recordset($1) AS r (id uuid, "companyId" integer, "instanceId" uuid, type text, "chatJid" text,
  "senderJid" text, content jsonb, "networkId" text, "quotedId" text, "pushName" text, "mediaId" uuid,
  "forwardingScore" integer, incomplete text)
ON CONFLICT (instance_id, network_id) WHERE network_id IS NOT NULL DO NOTHING
RETURNING id`;

const WARM = `
INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
SELECT "instanceId", "chatJid", "companyId", 0, score, $2
FROM json_to_recordset($1) AS r ("instanceId" uuid, "chatJid" text, "companyId" integer, score real)
ON CONFLICT (instance_id, chat_jid) DO UPDATE
SET outbound_consecutive = 0, score = excluded.score, score_at = excluded.score_at`;
