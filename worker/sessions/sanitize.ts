/**
 * Makes data from strangers storable. A network passes on anything a phone wrote: invalid dates, characters
 * that PostgreSQL refuses in text, numbers too large for their column, texts of megabytes. Each of them would
 * fail the statement that records it, and block all later items.
 */
import { CONTENT_MAX_BYTES } from '@posthorn/core/messages/apply-change.ts';
import type {
  InboundMedia,
  InboundMessage,
  NetworkChange,
  NetworkReceipt,
} from '@posthorn/core/network/driver.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';

/** A message as it is recorded, with the reason if parts had to be left out. */
export type SanitizedMessage = InboundMessage & { incomplete?: 'content_cut' | 'content_unreadable' };

/** Ids and addresses are indexed, and index entries have a maximum size; no network has longer ones. */
const ID = /^[\x21-\x7e]{1,128}$/;
const ADDRESS = /^[\x21-\x7e]{1,160}$/;
const NAME_MAX_CHARS = 256;
const FILE_NAME_MAX_CHARS = 1024;
const TYPE_MAX_CHARS = 128;
/** If a content is too large, each text in it is cut to this. A phone sends at most 65,536 characters. */
const TEXT_MAX_CHARS = 16 * 1024;
const DEPTH_MAX = 32;
const NODES_MAX = 20_000;
const EARLIEST_MS = Date.UTC(2000);
const AHEAD_MS = DAY_MS;
const FORWARDS_MAX = 1_000_000;

/** Makes items storable. Drops items without a valid id and logs their number. */
export function sanitizeItems<T, Out>(
  { deps, scope }: { deps: { clock: Clock; log: Pick<Log, 'warn'> }; scope: { instanceId: string } },
  kind: string,
  items: readonly T[],
  sanitize: (item: T, now: Date) => Out | null,
): Out[] {
  const now = deps.clock.now();
  const told = items.map((item) => sanitize(item, now)).filter((item) => item !== null);
  if (told.length < items.length) {
    const about = { kind, refused: items.length - told.length, instance_id: scope.instanceId };
    deps.log.warn(about, 'dropped inbound items without a valid id');
  }
  return told;
}

/** Null if the id, chat or sender is invalid: the message could never be found again. */
export function sanitizeMessage(message: InboundMessage, now: Date): SanitizedMessage | null {
  if (!isId(message.networkId) || !isAddress(message.chat) || !isAddress(message.from)) return null;
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
  if (!isId(receipt.networkId) || !isAddress(receipt.chat) || !isAddress(receipt.by)) return null;
  const { assignedId, ...rest } = receipt;
  return { ...rest, ...(isId(assignedId) ? { assignedId } : {}), at: sanitizeDate(receipt.at, now) };
}

export function sanitizeChange(change: NetworkChange, now: Date): NetworkChange | null {
  if (!isId(change.networkId) || !isAddress(change.chat) || !isAddress(change.from)) return null;
  const { changeId, ...rest } = change;
  const told = { ...rest, ...(isId(changeId) ? { changeId } : {}), at: sanitizeDate(change.at, now) };
  if (told.kind !== 'edited') return told;
  const { content, incomplete } = sanitizeContent(told.content);
  // If the new content is unreadable, the message keeps its old content.
  return incomplete === 'content_unreadable' ? null : { ...told, content };
}

/** Whether an id fits in an index. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** The same for an address, which may be an id of 128 characters with its domain. */
export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && ADDRESS.test(value);
}

/** Replaces an invalid or implausible date by now, the time of arrival. */
export function sanitizeDate(at: Date, now: Date): Date {
  const ms = at instanceof Date ? at.getTime() : Number.NaN;
  return ms >= EARLIEST_MS && ms <= now.getTime() + AHEAD_MS ? at : now;
}

export function sanitizeText(value: unknown, maxChars: number): string {
  if (typeof value !== 'string') return '';
  // Cut before processing; storable() then replaces a surrogate pair that the cut split.
  return storable(value.slice(0, maxChars));
}

/** PostgreSQL accepts no NUL in text, and neither NUL nor half a surrogate pair in JSON. */
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
    ...(isId(media.key) ? { key: media.key } : {}),
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

/** Null if the value is not an object, or is too deep or too large. */
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
    // Not by assignment: a key named __proto__ is an ordinary key.
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
