import { apiError } from '@posthorn/contract/api-error.ts';

/** A position in a list that goes by two keys, as the opaque text that callers hand back. */
export function encodePosition(first: string, second: string): string {
  return Buffer.from(JSON.stringify([first, second])).toString('base64url');
}

/** Throws 400 BAD_REQUEST for a text that no list has given as its cursor. */
export function decodePosition(cursor: string): [first: string, second: string] {
  try {
    const keys: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(keys) && keys.length === 2 && keys.every(isKey)) return keys as [string, string];
  } catch {
    // Not JSON: said below.
  }
  throw notValid();
}

/** PostgreSQL has no text with a NUL or half a surrogate pair. */
function isKey(key: unknown): boolean {
  return typeof key === 'string' && key.isWellFormed() && !key.includes('\0');
}

export function notValid() {
  return apiError('BAD_REQUEST', { message: 'before: is not a cursor of this list' });
}
