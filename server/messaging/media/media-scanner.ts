import { apiError } from '@posthorn/contract/api-error.ts';
import { PLACEHOLDER } from './placeholder.ts';

/** A piece of a JSON text, unchanged, or of the value of `media_base64`, unescaped. */
export type Piece = { kind: 'json'; bytes: Uint8Array } | { kind: 'media'; text: string };

/**
 * Splits a JSON text that arrives in chunks into the value of the top-level field `media_base64` and the
 * rest, with a placeholder for that value. It only knows strings and nesting: the parser decides whether the
 * rest is JSON.
 */
export interface MediaScanner {
  scan(chunk: Buffer): Piece[];
  /** Whether the field was present, as a string. */
  found(): boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
const COLON = 0x3a;
const COMMA = 0x2c;
const KEY = Buffer.from('media_base64');
const ESCAPES: Record<string, string> = { '/': '/', n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

// long: a state machine over bytes: its states are its variables
export function createMediaScanner(): MediaScanner {
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** The current string, as far as it could be the key. */
  let name: number[] = [];
  /** A key of the outermost object may begin here. */
  let keyNext = false;
  let readingKey = false;
  /** `media_base64` was read as a key: its value follows after the colon. */
  let armed: 'no' | 'key' | 'value' = 'no';
  let inMedia = false;
  let found = false;
  let hasText = false;
  /** An incomplete escape in the value. */
  let escapeSoFar: string | null = null;

  function* scanJson(chunk: Buffer, from: number): Generator<Piece, number> {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at]!;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) {
          inString = false;
          if (readingKey) {
            readingKey = false;
            if (KEY.equals(Buffer.from(name))) armed = 'key';
          }
          continue;
        }
        if (readingKey && name.length <= KEY.length) name.push(byte);
        continue;
      }
      if (byte === QUOTE) {
        if (armed === 'value') {
          if (found) throw apiError('BAD_REQUEST', { message: 'media_base64: is given twice' });
          found = true;
          inMedia = true;
          armed = 'no';
          // Up to and including the quote.
          yield { kind: 'json', bytes: chunk.subarray(from, at + 1) };
          return at + 1;
        }
        inString = true;
        readingKey = keyNext && depth === 1;
        keyNext = false;
        name = [];
        continue;
      }
      if (byte === COLON) {
        armed = armed === 'key' ? 'value' : 'no';
        continue;
      }
      // White space changes nothing; anything else is a value that is not a string.
      if (byte > 0x20) armed = armed === 'key' ? 'key' : 'no';
      if (OPENING.has(byte)) {
        depth += 1;
        keyNext = depth === 1;
      } else if (CLOSING.has(byte)) depth -= 1;
      else if (byte === COMMA) keyNext = depth === 1;
    }
    if (from < chunk.length) yield { kind: 'json', bytes: chunk.subarray(from) };
    return chunk.length;
  }

  function* scanMedia(chunk: Buffer, from: number): Generator<Piece, number> {
    let at = from;
    // Searched once: escapes every few characters must not search the rest of the chunk each time.
    const quoteAt = indexOrEnd(chunk, QUOTE, at);
    while (at < chunk.length) {
      if (escapeSoFar !== null) {
        const char = String.fromCharCode(chunk[at]!);
        at += 1;
        const text = takeEscape(char);
        if (text) yield media(text);
        continue;
      }
      const limit = at <= quoteAt ? quoteAt : indexOrEnd(chunk, QUOTE, at);
      const backslashAt = chunk.subarray(at, limit).indexOf(BACKSLASH);
      const end = backslashAt < 0 ? limit : at + backslashAt;
      if (end > at) yield media(chunk.toString('latin1', at, end));
      if (end === chunk.length) return end;
      at = end + 1;
      if (end === limit) {
        inMedia = false;
        const text = `${hasText ? PLACEHOLDER : ''}"`;
        yield { kind: 'json', bytes: Buffer.from(text) };
        return at;
      }
      escapeSoFar = '';
    }
    return at;
  }

  function media(text: string): Piece {
    hasText = true;
    return { kind: 'media', text };
  }

  /** The character of the escape that `char` completes. Any other escape is neither base64 nor JSON. */
  function takeEscape(char: string): string | null {
    escapeSoFar += char;
    const soFar = escapeSoFar!;
    if (soFar[0] !== 'u') {
      escapeSoFar = null;
      return ESCAPES[soFar] ?? '?';
    }
    if (soFar.length < 5) return null;
    escapeSoFar = null;
    const code = Number.parseInt(soFar.slice(1), 16);
    return Number.isNaN(code) ? '?' : String.fromCharCode(code);
  }

  return {
    scan(chunk) {
      const pieces: Piece[] = [];
      let at = 0;
      while (at < chunk.length) {
        const scanning = inMedia ? scanMedia(chunk, at) : scanJson(chunk, at);
        let step = scanning.next();
        for (; !step.done; step = scanning.next()) pieces.push(step.value);
        at = step.value;
      }
      return pieces;
    },
    found: () => found,
  };
}

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at < 0 ? chunk.length : at;
}
