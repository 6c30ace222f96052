/** Both ends included. */
export interface ByteRange {
  start: number;
  end: number;
}

const UNIT = 'bytes=';
/** Room for two numbers of any realistic file size; a longer header requests several ranges or is invalid. */
const HEADER_MAX_CHARS = 100;

/**
 * Parses the single byte range of a `Range` header. `beyond`: outside this file (416). Undefined for no
 * header, several ranges or an invalid one: the answer is then the whole file, as RFC 9110 14.2 allows.
 * Parsed by hand, because blanks took minutes in a pattern with several `\s*`, and because Express's parser
 * (range-parser 1.3.0) refuses the last 5 bytes of a file of 3, which is all of it (RFC 9110 14.1.2).
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

/** The last `count` bytes; an empty file has none and is sent whole. */
function suffix(count: number, sizeBytes: number): ByteRange | 'beyond' | undefined {
  if (count === 0) return 'beyond';
  if (sizeBytes === 0) return undefined;
  return { start: Math.max(0, sizeBytes - count), end: sizeBytes - 1 };
}

/** Null for an empty text, undefined if it is not a number. */
function numberOf(text: string): number | null | undefined {
  if (text === '') return null;
  return /^\d{1,100}$/.test(text) ? Number(text) : undefined;
}
