import { v7 } from 'uuid';
import { beforeFirst } from './before-first.ts';
import { drawBytes } from './draw-bytes.ts';
import { type Clock, systemClock } from './process/clock.ts';

/** The text form of a UUID of any version. */
export const UUID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID_FORM.test(text);
}

const RANDOM_BYTES = 16;
/** The time of the last id. */
let msecs = 0;
let seq = 0;
/** The clock that gives new ids their time. */
let clock: Pick<Clock, 'now'> = systemClock;

/** From now on the ids of this process carry the time of this clock, so that they are in order with those of others. */
export function dateIdsBy(given: Pick<Clock, 'now'>): void {
  clock = given;
}

/**
 * A time-ordered UUID: rows inserted together are neighbours in the index. Those of one process ascend (RFC 9562, 6.2,
 * a counter of 32 bits that begins at random in each millisecond).
 */
export function newId(): string {
  const random = drawBytes(RANDOM_BYTES);
  const now = clock.now().getTime();
  if (now > msecs) {
    msecs = now;
    // Its first bit is left free: the counter does not overflow within a millisecond.
    seq = ((random[6]! & 0x7f) << 24) | (random[7]! << 16) | (random[8]! << 8) | random[9]!;
  } else seq += 1;
  return v7({ msecs, seq, random });
}

let seqAt = 0;

/**
 * An id that stands among those of {@link newId} at a later time: that of a message which is sent then. Those that one
 * process makes for one moment ascend.
 */
export function newIdAt(time: Date): string {
  seqAt = (seqAt + 1) >>> 0;
  return v7({ msecs: time.getTime(), seq: seqAt, random: drawBytes(RANDOM_BYTES) });
}

/** When an id of {@link newId} was made, in Unix milliseconds. */
export function timeOfId(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** Below every id of {@link newId} that is made from this time on. */
export function firstIdAt(time: Date): string {
  return uuidOfHex(`${time.getTime().toString(16).padStart(12, '0')}70008000000000000000`);
}

/**
 * The network's id of an outbound message: the 32 upper-case hex digits of its UUID.
 *
 * Derived, never drawn: a send repeated after a crash carries the same id and the network drops
 * the duplicate. Reversible, so a receipt finds its row by the primary key and outbound rows need no
 * second index (see docs/decisions/0003-network-ids.md).
 */
export function networkIdOf(messageId: string): string {
  return messageId.replaceAll('-', '').toUpperCase();
}

/** The UUID behind a network id made by {@link networkIdOf}; null for an id that is not of that form. */
export function messageIdOf(networkId: string): string | null {
  if (!/^[0-9A-F]{32}$/.test(networkId)) return null;
  return uuidOfHex(networkId.toLowerCase());
}

/** Times of {@link newId} lie between these, as the first twelve digits of an id: 2020 and 2100. */
const FIRST_TIME = '016F5E66E800';
const LAST_TIME = '03BB2CC3D800';

/**
 * The message id behind a network id that {@link networkIdOf} made; null for one that a phone drew. A phone's id may
 * have 32 digits as well: version, variant and time tell nearly all of them apart. A caller that can look the message
 * up uses {@link messageIdOf}.
 */
export function sentIdOf(networkId: string): string | null {
  if (!/^[0-9A-F]{12}7[0-9A-F]{3}[89AB][0-9A-F]{15}$/.test(networkId)) return null;
  const time = networkId.slice(0, 12);
  return time >= FIRST_TIME && time < LAST_TIME ? messageIdOf(networkId) : null;
}

/** How a message is stored whose network id a message of another chat has already: people choose ids, and see those of others. */
export function idInChat(networkId: string, chatJid: string): string {
  return `${networkId}@${chatJid}`;
}

/** The network's own id of a message that is stored by it, or by {@link idInChat}. */
export function plainIdOf<T extends string | null>(stored: T): T {
  return (stored === null ? null : beforeFirst(stored, '@')) as T;
}

/** The UUID of 32 hex digits. */
export function uuidOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
