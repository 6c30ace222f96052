/** Both ends included. */
export interface ByteRange {
  start: number;
  end: number;
}

const UNIT = 'bytes=';
/** Two numbers of any length that a file can have; a longer header asks for several ranges, or for nothing. */
const HEADER_MAX_CHARS = 100;

/**
 * The one range of bytes that a `Range` header asks for. `beyond`: it is none of this file (416). Undefined for no
 * header, for several ranges and for what is no range: then the whole file is the answer, as RFC 9110 14.2 allows.
 *
 * Cut by hand, since blanks in a pattern with several `\s*` took minutes, and since Express's parser (range-parser 1.3.0)
 * refuses the last 5 bytes of a file of 3, which is all of it (RFC 9110 14.1.2).
 */
export function parseRange(header: string | undefined, sizeBytes: number): ByteRange | 'beyond' | undefined {
  if (header === undefined || header.length > HEADER_MAX_CHARS) return undefined;
  if (header.slice(0, UNIT.length).toLowerCase() !== UNIT) return undefined;
  const spec = header.slice(UNIT.length).trim();
  const dash = spec.indexOf('-');
  if (dash < 0) return undefined;
  const first = numberOf(spec.slice(0, dash).trim());
  const last = numberOf(spec.slice(dash + 1).trim());
  if (first === undefined || last === undefined) return undefined;
  if (first === null) return last === null ? undefined : suffix(last, sizeBytes);
  if (last !== null && last < first) return undefined;
  if (first >= sizeBytes) return 'beyond';
  return { start: first, end: Math.min(last ?? sizeBytes, sizeBytes - 1) };
}

/** The last bytes; of an empty file there are none, so it is answered whole. */
function suffix(count: number, sizeBytes: number): ByteRange | 'beyond' | undefined {
  if (count === 0) return 'beyond';
  if (sizeBytes === 0) return undefined;
  return { start: Math.max(0, sizeBytes - count), end: sizeBytes - 1 };
}

/** Null for an empty text, undefined for what is no number. */
function numberOf(text: string): number | null | undefined {
  if (text === '') return null;
  return /^\d{1,100}$/.test(text) ? Number(text) : undefined;
}
