import { type PastMessage, recordPastBatch } from '@posthorn/core/messages/record-history.ts';
import type { HistoryBatch } from '@posthorn/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';
import type { Care } from './bounded-tries.ts';
import { tameMessage } from './tame.ts';
import { tameContact, tamePastChat } from './tame-facts.ts';

/** Messages of one statement at most. */
const BATCH_MAX = 500;
const STATUSES: ReadonlySet<unknown> = new Set(['sent', 'delivered', 'read', 'played']);

/**
 * Stores what was before the pairing: chats, contacts and messages, without events of their own. Media stays where it
 * is: it is said to be missing. Of a part that could not be recorded again and again only its end is kept.
 */
export async function recordHistory(
  { deps, scope }: { deps: ArrivalsDeps; scope: ArrivalsScope },
  batches: readonly HistoryBatch[],
  care: Care,
): Promise<void> {
  for (const { chats, contacts, messages, isLast } of batches) {
    const isHusk = care === 'husk';
    const past = isHusk ? [] : messages.flatMap((message) => pastOf(message, deps.clock.now()));
    // Messages first: the last one of all tells how many there were.
    for (let at = 0; at + BATCH_MAX < past.length; at += BATCH_MAX) {
      const part = past.slice(at, at + BATCH_MAX);
      await recordPastBatch(deps, scope, { chats: [], contacts: [], messages: part, isLast: false });
    }
    const rest = past.slice(Math.max(0, Math.ceil(past.length / BATCH_MAX) - 1) * BATCH_MAX);
    await recordPastBatch(deps, scope, {
      chats: isHusk ? [] : chats.map(tamePastChat).filter((chat) => chat !== null),
      contacts: isHusk ? [] : contacts.map(tameContact).filter((contact) => contact !== null),
      messages: rest,
      isLast,
    });
  }
}

function pastOf(message: HistoryBatch['messages'][number], now: Date): PastMessage[] {
  const tame = tameMessage(message, now);
  if (!tame) return [];
  const { media, incomplete = media && 'media_unavailable', ...kept } = tame;
  const status = STATUSES.has(message.status) ? message.status : undefined;
  return [{ ...kept, incomplete, fromMe: message.fromMe === true, status }];
}
