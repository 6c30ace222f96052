import { knownJid, readPhones } from '@posthorn/core/lids/read-phones.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import { type PastMessage, recordPastBatch } from '@posthorn/core/messages/record-history.ts';
import type { HistoryBatch } from '@posthorn/core/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import type { Care } from './bounded-tries.ts';
import { isPair } from './record-lids.ts';
import { sanitizeMessage } from './sanitize.ts';
import { sanitizeContact, sanitizePastChat } from './sanitize-facts.ts';

/** Maximum messages per statement. */
const BATCH_MAX = 500;
const STATUSES: ReadonlySet<unknown> = new Set(['sent', 'delivered', 'read', 'played']);

/**
 * Stores chats, contacts and messages from before the pairing, without their own events. Media is not
 * downloaded but marked as missing. A part that fails repeatedly is recorded only as ended. Gives the messages of the part.
 */
export async function recordHistory(
  { deps, scope }: { deps: ArrivalsDeps; scope: ArrivalsScope },
  { chats, contacts, lids, messages, position, isLast }: HistoryBatch,
  care: Care,
): Promise<readonly PastMessage[]> {
  const isEnvelope = care === 'envelope';
  if (!isEnvelope && lids.length > 0) await recordLids(deps, scope, lids.filter(isPair));
  const known = await addressesOf(deps, scope, [
    ...[...chats, ...messages].map(({ chat }) => chat),
    ...contacts.map(({ jid }) => jid),
  ]);
  const past = isEnvelope
    ? []
    : messages
        .flatMap((message) => pastOf(message, deps.clock.now()))
        .map((message) => ({ ...message, chat: known(message.chat) }));
  // Messages first: the last statement reports how many there were.
  for (let at = 0; at + BATCH_MAX < past.length; at += BATCH_MAX) {
    const part = past.slice(at, at + BATCH_MAX);
    await recordPastBatch(deps, scope, {
      ...{ chats: [], contacts: [], messages: part, isLast: false },
      position: { part: position, message: at },
    });
  }
  const rest = Math.max(0, Math.ceil(past.length / BATCH_MAX) - 1) * BATCH_MAX;
  await recordPastBatch(deps, scope, {
    chats: isEnvelope
      ? []
      : chats
          .map(sanitizePastChat)
          .filter((chat) => chat !== null)
          .map((chat) => ({ ...chat, chat: known(chat.chat) })),
    contacts: isEnvelope
      ? []
      : contacts
          .map(sanitizeContact)
          .filter((contact) => contact !== null)
          .map((contact) => ({ ...contact, jid: known(contact.jid) })),
    messages: past.slice(rest),
    position: { part: position, message: rest },
    isLast,
  });
  return past;
}

/** Maps an anonymous id to the phone's address if that is known. */
async function addressesOf(
  { db }: ArrivalsDeps,
  { instanceId }: ArrivalsScope,
  jids: readonly string[],
): Promise<(jid: string) => string> {
  const book = await readPhones(
    db,
    jids.filter((jid) => typeof jid === 'string').map((jid) => ({ instanceId, jid })),
  );
  return (jid) => knownJid(book, { instanceId, jid });
}

function pastOf(message: HistoryBatch['messages'][number], now: Date): PastMessage[] {
  const sanitized = sanitizeMessage(message, now);
  if (!sanitized) return [];
  const { media, incomplete = media && 'media_unavailable', ...kept } = sanitized;
  const status = STATUSES.has(message.status) ? message.status : undefined;
  return [{ ...kept, incomplete, fromMe: message.fromMe === true, status }];
}
