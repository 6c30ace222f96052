import { phoneOf as phoneOfJid } from '@posthorn/contract/jid.ts';
import { type ChatTraffic, recordChatTraffic } from '../chats/record-traffic.ts';
import { buildEvent } from '../events/build-event.ts';
import type { NewEvent } from '../events/insert-events.ts';
import { lockAcceptOrder } from '../guard/accept-order.ts';
import { afterInbound, isContact, newContact } from '../guard/guard.ts';
import { createRecorder, type RecorderDeps, type Recording } from '../instances/create-recorder.ts';
import type { Lease, Recorded } from '../instances/lock-leases.ts';
import { forgetMisled } from '../lids/forget-misled.ts';
import { knownJid, type Person, type PhoneBook, readPhones } from '../lids/read-phones.ts';
import type { Coalescer } from '../platform/database/coalesce.ts';
import { type Sql, write } from '../platform/database/db.ts';
import { messageIdOf, newId } from '../platform/ids.ts';
import { statusKey } from '../status/find-status.ts';
import { type PostedStory, recordPosted, storyOf } from '../status/record-posted.ts';
import { countUsage } from '../usage/count-usage.ts';
import { deviceType, inboundFamily, ownIds, referencesOf } from './inbound-content.ts';
import { insertInbound } from './insert-inbound.ts';
import { outboundFamily } from './message-events.ts';
import { type OwnIdOf, readOwnReferences } from './own-references.ts';

/** A message that an instance received, or that another device of its account sent, as its session got it. */
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
  /** The status that it answers. */
  statusId?: string | undefined;
  /** Set when it has media that was stored. */
  mediaId?: string | undefined;
  mimeType?: string | undefined;
  /** Animated stickers. */
  animated?: boolean | undefined;
  /** How often it was forwarded; absent when it carries no mark. */
  forwardingScore?: number | undefined;
  /** Why it is not whole: its media could not be had, or its content not be read. */
  incomplete?: string | undefined;
  /** The account itself sent it, on its phone or another device. */
  fromMe?: boolean | undefined;
  /** The instance reads what it receives: it does not count as unread. */
  isRead?: boolean | undefined;
  at: Date;
}

/** The messages that one instance received, in order. Recorded whole or not at all, so that nothing overtakes. */
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
 *
 * Messages from the account's other devices go the same way, in one order with what was received (EVT-25): they are
 * outbound and tell message.sent, and they count for no temperature and no usage. One that comes back of a send of our
 * own is that send.
 */
export function createInboundRecorder(deps: RecorderDeps): InboundRecorder {
  return createRecorder<ReceivedBatch, Known>(deps, {
    ...{ maxBatch: 16, read: readKnown, record },
    sharedBy: ({ messages, lease }) => messages[0]?.companyId ?? lease.shard,
  });
}

async function record(
  { client, now, tell }: Recording,
  current: readonly ReceivedBatch[],
  known: Known,
): Promise<void> {
  const arrived = current.flatMap((batch) => batch.messages);
  const { ownIdOf } = known;
  const writers = arrived.filter(({ fromMe }) => !fromMe);
  const phoneOf = await forgetMisled(client, known.phoneOf, {
    writers: writers.map(({ instanceId, senderJid: jid }) => ({ instanceId, jid })),
    people: peopleIn(arrived),
  });
  const messages = arrived.map((received) => {
    const message = {
      ...received,
      id: newId(),
      // All messages of a person whose phone is known belong to one chat, whichever address the person writes from.
      chatJid: knownJid(phoneOf, { instanceId: received.instanceId, jid: received.chatJid }),
      content: ownIds(received.content, (networkId) => ownIdOf(received.instanceId, networkId)),
    };
    return received.fromMe
      ? { ...message, ...ofDevice(message) }
      : { ...message, type: inboundFamily(received.type) };
  });
  const fresh = await insertInbound(client, messages, now);
  const told = messages.filter((message) => fresh.has(message.id));
  const received = told.filter(({ fromMe }) => !fromMe);
  await warmContacts(client, received, now);
  await recordChatTraffic(
    client,
    told.map((message) => trafficOf(message, phoneOf)),
    now,
  );
  const stories = told.flatMap(storiesOf);
  const replies = stories.length > 0 ? await recordPosted(client, stories, now) : [];
  const eventsOf = (message: Stored) =>
    message.fromMe
      ? [deviceSentEvent(message, ownIdOf, now)]
      : receivedEvents(message, { phoneOf, ownIdOf }, now);
  await tell([...told.flatMap(eventsOf), ...replies]);
  await countUsage(
    client,
    received.map(({ companyId, instanceId }) => ({ companyId, instanceId, what: 'received' as const })),
    now,
  );
}

type Stored = Received & { id: string };

/** Answers to statuses are reported by these types (STA-12). */
const ANSWERS: ReadonlySet<string> = new Set(['text', 'image', 'video', 'sticker']);

/** The columns that differ for a message that another device sent. */
function ofDevice({ type, content, statusId, chatJid, networkId }: Stored) {
  const { status_reply: _, ...said } = content;
  const answered = { status_message_id: statusId, phone: phoneOfJid(chatJid) };
  return {
    type: deviceType(type),
    content: statusId && ANSWERS.has(type) ? { ...said, status_reply: answered } : said,
    /** The send of our own that it would be. */
    sentAs: messageIdOf(networkId),
  };
}

/** Writing in a chat on another device marks the chat as read, as the phone shows it. */
function trafficOf(message: Stored, phoneOf: PhoneBook): ChatTraffic {
  const { companyId, instanceId, chatJid, id: messageId, type, at, senderJid, pushName } = message;
  const traffic = { companyId, instanceId, chatJid, messageId, type, at };
  if (message.fromMe) return { ...traffic, isRead: true };
  const sender = knownJid(phoneOf, { instanceId, jid: senderJid });
  return { ...traffic, isRead: message.isRead, received: { senderJid: sender, pushName } };
}

/** The entries of the status feed among them. */
function storiesOf(message: Stored): PostedStory[] {
  if (!message.fromMe) return [];
  const row = { ...outboundRow(message), trace_id: null, content: message.content };
  const story = storyOf(row, message.at, statusKey(message.networkId));
  return story ? [story] : [];
}

/** The message as the events of sends read it. */
function outboundRow(message: Stored) {
  return {
    id: message.id,
    company_id: message.companyId,
    instance_id: message.instanceId,
    type: message.type,
    chat_jid: message.chatJid,
    media_id: message.mediaId ?? null,
    is_forwarded: message.forwardingScore !== undefined,
    forwarding_score: message.forwardingScore ?? 0,
  };
}

/** message.sent without a key, and with the content, which nobody here knows yet. */
function deviceSentEvent(message: Stored, ownIdOf: OwnIdOf, now: Date): NewEvent {
  const { content, type } = message;
  const details = detailsOf(message, ownIdOf);
  const data = { ...outboundFamily(outboundRow(message), message.at), content, ...details };
  if (type === 'contact') Object.assign(data, { contacts: content.contacts });
  return buildEvent(message, { type: 'message.sent', data, now });
}

/** Details of a content that events carry beside it; empty when there are none. */
function detailsOf(message: Received, ownIdOf: OwnIdOf): Record<string, unknown> {
  const { instanceId, quotedId, mimeType, animated, incomplete } = message;
  return {
    ...(quotedId ? { quoted_id: ownIdOf(instanceId, quotedId) ?? quotedId } : {}),
    ...(mimeType ? { mime_type: mimeType } : {}),
    ...(animated ? { is_animated: true } : {}),
    ...(incomplete ? { incomplete_reason: incomplete } : {}),
  };
}

/** The senders' phones, and the ids of our messages that they name. */
interface Known {
  phoneOf: PhoneBook;
  ownIdOf: OwnIdOf;
}

function peopleIn(messages: readonly Received[]): Person[] {
  return messages.flatMap(({ instanceId, chatJid, senderJid }) => [
    { instanceId, jid: senderJid },
    { instanceId, jid: chatJid },
  ]);
}

async function readKnown(client: Sql, batches: readonly ReceivedBatch[]): Promise<Known> {
  const messages = batches.flatMap((batch) => batch.messages);
  const references = messages.flatMap(({ instanceId, quotedId, content }) =>
    [...(quotedId ? [quotedId] : []), ...referencesOf(content)].map((networkId) => ({
      instanceId,
      networkId,
    })),
  );
  const [phoneOf, ownIdOf] = await Promise.all([
    readPhones(client, peopleIn(messages)),
    readOwnReferences(client, references),
  ]);
  return { phoneOf, ownIdOf };
}

/** message.received, and the same under the name of its family (EVT-7). */
function receivedEvents(message: Stored, { phoneOf, ownIdOf }: Known, now: Date): NewEvent[] {
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
    ...detailsOf(message, ownIdOf),
  };
  if (message.mediaId) data.media_id = message.mediaId;
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
  const direct = received.filter(({ chatJid }) => isContact(chatJid));
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

const WARM = `
INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
SELECT "instanceId", "chatJid", "companyId", 0, score, $2
FROM json_to_recordset($1) AS r ("instanceId" uuid, "chatJid" text, "companyId" integer, score real)
ON CONFLICT (instance_id, chat_jid) DO UPDATE
SET outbound_consecutive = 0, score = excluded.score, score_at = excluded.score_at`;
