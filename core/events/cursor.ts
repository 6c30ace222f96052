import { DAY_MS } from '../platform/durations.ts';

/**
 * A position in the event log of a company: everything at or before (tx, id) was seen. `atMs` is when
 * the reader stood there, which tells a cursor whose successors may have been dropped by retention.
 */
export interface Cursor {
  tx: number;
  id: number;
  atMs: number;
}

const FORM = /^([0-9a-z]{1,11})-([0-9a-z]{1,11})-([0-9a-z]{1,9})$/;

/** The opaque form that clients hold: `id` of an SSE frame, `after` and `before` of a list. */
export function encodeCursor(cursor: Cursor): string {
  return `${cursor.tx.toString(36)}-${cursor.id.toString(36)}-${cursor.atMs.toString(36)}`;
}

/** Null for a text that {@link encodeCursor} never made. */
export function decodeCursor(text: string): Cursor | null {
  const parts = FORM.exec(text);
  if (!parts) return null;
  const [tx, id, atMs] = [parts[1]!, parts[2]!, parts[3]!].map((part) => Number.parseInt(part, 36));
  if (![tx, id, atMs].every((part) => Number.isSafeInteger(part))) return null;
  return { tx: tx!, id: id!, atMs: atMs! };
}

/** Negative when `a` stands before `b`. */
export function compareCursors(a: Cursor, b: Cursor): number {
  return a.tx - b.tx || a.id - b.id;
}

/** True when events after it may be gone: it is older than what the log keeps. */
export function isExpired(cursor: Cursor, options: { nowMs: number; retentionDays: number }): boolean {
  return cursor.atMs < options.nowMs - options.retentionDays * DAY_MS;
}
