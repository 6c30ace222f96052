/**
 * Makes what strangers send storable. A network passes on whatever a phone wrote: invalid dates, characters that
 * PostgreSQL refuses in text, numbers too large for their column, texts of megabytes. Each of them would fail the
 * statement that records it, and everything behind it.
 */
import { CONTENT_MAX_BYTES } from '@posthorn/core/messages/apply-change.ts';
import type {
  InboundMedia,
  InboundMessage,
  NetworkChange,
  NetworkReceipt,
} from '@posthorn/core/network/driver.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';

/** A message as it is recorded; what had to be left out of it is named. */
export type SanitizedMessage = InboundMessage & { incomplete?: 'content_cut' | 'content_unreadable' };

/** Ids and addresses stand in indexes, whose entries have a bound; no network has longer ones. */
const ID = /^[\x21-\x7e]{1,128}$/;
const NAME_MAX_CHARS = 256;
const FILE_NAME_MAX_CHARS = 1024;
const TYPE_MAX_CHARS = 128;
/** Where a content is larger: what is left of each text in it. A phone sends 65,536 characters at most. */
const TEXT_MAX_CHARS = 16 * 1024;
const DEPTH_MAX = 32;
const NODES_MAX = 20_000;
const EARLIEST_MS = Date.UTC(2000);
const AHEAD_MS = DAY_MS;
const FORWARDS_MAX = 1_000_000;

/** Null when it says neither what it is called nor where it belongs: nothing of it could be found again. */
export function sanitizeMessage(message: InboundMessage, now: Date): SanitizedMessage | null {
  if (!isId(message.networkId) || !isId(message.chat) || !isId(message.from)) return null;
  const { content, incomplete } = sanitizeContent(message.content);
  const lost = message.unreadable ? 'content_unreadable' : incomplete;
  return {
    networkId: message.networkId,
    chat: message.chat,
    from: message.from,
    pushName: sanitizeText(message.pushName, NAME_MAX_CHARS),
    ...(message.fromMe === true ? { fromMe: true } : {}),
    type: sanitizeText(message.type, TYPE_MAX_CHARS),
    content,
    ...(isId(message.quotedId) ? { quotedId: message.quotedId } : {}),
    ...(isId(message.statusId) ? { statusId: message.statusId } : {}),
    ...(message.media ? { media: sanitizeMedia(message.media) } : {}),
    ...forwardsOf(message.forwardingScore),
    at: sanitizeDate(message.at, now),
    ...(lost ? { incomplete: lost } : {}),
  };
}

export function sanitizeReceipt(receipt: NetworkReceipt, now: Date): NetworkReceipt | null {
  if (!isId(receipt.networkId) || !isId(receipt.chat) || !isId(receipt.by)) return null;
  return { ...receipt, at: sanitizeDate(receipt.at, now) };
}

export function sanitizeChange(change: NetworkChange, now: Date): NetworkChange | null {
  if (!isId(change.networkId) || !isId(change.chat) || !isId(change.from)) return null;
  const at = sanitizeDate(change.at, now);
  if (change.kind !== 'edited') return { ...change, at };
  const { content, incomplete } = sanitizeContent(change.content);
  // New words that can't be read are none: the message keeps those that it has.
  return incomplete === 'content_unreadable' ? null : { ...change, content, at };
}

/** An id or an address as it can stand in an index. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** A date that is none, or of another age, is now: that is when it came. */
export function sanitizeDate(at: Date, now: Date): Date {
  const ms = at instanceof Date ? at.getTime() : Number.NaN;
  return ms >= EARLIEST_MS && ms <= now.getTime() + AHEAD_MS ? at : now;
}

export function sanitizeText(value: unknown, maxChars: number): string {
  if (typeof value !== 'string') return '';
  // Cut before it is looked at, and once more: a pair may have been cut in two.
  return storable(value.slice(0, maxChars));
}

/** PostgreSQL takes no NUL in text and neither NUL nor half a surrogate pair in JSON. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

function forwardsOf(score: unknown): { forwardingScore?: number } {
  if (typeof score !== 'number' || !(score >= 1)) return {};
  return { forwardingScore: Math.min(Math.trunc(score), FORWARDS_MAX) };
}

function sanitizeMedia(media: InboundMedia): InboundMedia {
  return {
    ref: media.ref,
    mimeType: sanitizeText(media.mimeType, TYPE_MAX_CHARS) || 'application/octet-stream',
    fileName: sanitizeText(media.fileName, FILE_NAME_MAX_CHARS),
    sizeBytes: Number.isSafeInteger(media.sizeBytes) && media.sizeBytes >= 0 ? media.sizeBytes : 0,
    ...(media.animated === true ? { animated: true } : {}),
  };
}

function sanitizeContent(value: unknown): {
  content: Record<string, unknown>;
  incomplete?: 'content_cut' | 'content_unreadable';
} {
  const whole = copyOf(value, Number.POSITIVE_INFINITY);
  if (whole && sizeOf(whole) <= CONTENT_MAX_BYTES) return { content: whole };
  const cut = whole && copyOf(value, TEXT_MAX_CHARS);
  if (cut && sizeOf(cut) <= CONTENT_MAX_BYTES) return { content: cut, incomplete: 'content_cut' };
  return { content: {}, incomplete: 'content_unreadable' };
}

function sizeOf(content: Record<string, unknown>): number {
  return Buffer.byteLength(JSON.stringify(content));
}

/** Null for what is no object, or is too deep or too much of one. */
function copyOf(value: unknown, textMaxChars: number): Record<string, unknown> | null {
  let nodes = 0;
  const text = (from: string) => storable(from.slice(0, textMaxChars));
  function copy(from: unknown, depth: number): unknown {
    nodes += 1;
    if (depth > DEPTH_MAX || nodes > NODES_MAX) throw new TooMuch();
    if (typeof from === 'string') return text(from);
    if (typeof from === 'number') return Number.isFinite(from) ? from : null;
    if (typeof from === 'boolean' || from === null) return from;
    if (Array.isArray(from)) return from.map((each) => copy(each, depth + 1));
    if (typeof from !== 'object') return undefined;
    // Not by assignment: a key named __proto__ is a key like any other.
    return Object.fromEntries(
      Object.entries(from).map(([key, each]) => [text(key), copy(each, depth + 1)] as const),
    );
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  try {
    return copy(value, 1) as Record<string, unknown>;
  } catch (err) {
    if (err instanceof TooMuch) return null;
    throw err;
  }
}

class TooMuch extends Error {}
