/** Hands over the history from before the pairing. */
import { isLidJid, isUserJid, phoneOf } from '@posthorn/contract/jid.ts';
import type { HistoryBatch } from '@posthorn/core/network/driver.ts';
import type { LibraryEvents } from './library-types.ts';
import { readHistory } from './session-arrivals.ts';
import { nameOf, type WhatsAppContext } from './session-context.ts';
import { isOurChat, withoutDevice } from './wire/jids.ts';
import { mutedUntil, numberOf } from './wire/numbers.ts';
import type { WireNumber } from './wire/wire-types.ts';

export function onHistory(session: WhatsAppContext, past: LibraryEvents['messaging-history.set']): void {
  session.arrivals
    .run(async () => {
      await session.sink.history(await readBatch(session, past));
    })
    .catch(() => undefined);
}

async function readBatch(
  session: WhatsAppContext,
  past: LibraryEvents['messaging-history.set'],
): Promise<HistoryBatch> {
  const chats: HistoryBatch['chats'][number][] = [];
  const phones = new Map<string, string>();
  const notePair = (lid: string, jid: string) => {
    const [one, phone] = [withoutDevice(lid), withoutDevice(jid)];
    if (isLidJid(one) && isUserJid(phone)) phones.set(one, phoneOf(phone));
  };
  for (const { id, name, unreadCount, archived, pinned, muteEndTime, ephemeralExpiration } of past.chats) {
    const chat = id && (await nameOf(session, id));
    if (!chat || !isOurChat(chat)) continue;
    // For a history it held back for a moment the library emits no pairs, but it has stored them.
    notePair(id, chat);
    if (ephemeralExpiration) await session.timers.learn(chat, ephemeralExpiration);
    chats.push({
      chat,
      name: name ?? '',
      unreadCount: Math.max(0, unreadCount ?? 0),
      archived: archived === true,
      pinned: (numberOf(pinned) ?? 0) > 0,
      mutedUntil: mutedUntil(millisecondsOf(muteEndTime)),
    });
  }
  const contacts: HistoryBatch['contacts'][number][] = [];
  for (const { id, name, notify, phoneNumber } of past.contacts) {
    const jid = id && (await nameOf(session, id, phoneNumber));
    if (jid && isUserJid(jid)) contacts.push({ jid, name: name ?? '', pushName: notify ?? '' });
  }
  for (const { lid, pn } of past.lidPnMappings ?? []) notePair(lid, pn);
  const progress = Math.min(100, Math.max(0, past.progress ?? 100));
  const isBeside = BESIDE_HISTORY.has(past.syncType);
  return {
    chats,
    contacts,
    lids: [...phones].map(([lid, phone]) => ({ lid, phone })),
    messages: await readHistory(session, past.messages),
    position: positionOf(past),
    progress,
    isLast: progress === 100 && !isBeside,
  };
}

/** No date of JavaScript is later. */
const LAST_MS = 8.64e15;

/** A history tells the end of a mute in seconds, and -1 as the largest number that it can. Changes of it come in milliseconds. */
function millisecondsOf(end: WireNumber | null | undefined): number | null {
  const seconds = numberOf(end);
  return seconds === null || seconds * 1000 <= LAST_MS ? seconds && seconds * 1000 : -1;
}

/** The sync types of parts without chats, which come at any time and do not say how far the history is. */
const BESIDE_HISTORY: ReadonlySet<unknown> = new Set([
  1, // INITIAL_STATUS_V3
  4, // PUSH_NAME
  5, // NON_BLOCKING_DATA
]);

/**
 * The first position of each sync type: the first type has the newest messages, the full history the oldest.
 */
const FIRST_POSITIONS = new Map([
  [0, 0xffff], // INITIAL_BOOTSTRAP
  [3, 0xbfff], // RECENT
]);
const FIRST_OF_OTHERS = 0x7fff;

/** A phone sends its history backwards: each part has older messages than the previous one. */
function positionOf({ syncType, chunkOrder }: LibraryEvents['messaging-history.set']): number {
  const first = FIRST_POSITIONS.get(syncType ?? -1) ?? FIRST_OF_OTHERS;
  return Math.max(0, first - Math.max(0, chunkOrder ?? 0));
}
