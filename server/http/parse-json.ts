import { apiError } from '@posthorn/contract/api-error.ts';

/**
 * The JSON text of a request as a value: 400 INVALID_JSON when it is none, BAD_REQUEST when it holds text
 * that PostgreSQL cannot store (a NUL, or half a surrogate pair). Refused here because one such row would
 * spoil a whole batch of accepted messages.
 */
export function parseJson(text: string): unknown {
  if (text === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw apiError('INVALID_JSON');
  }
  // Such characters arrive only as escapes: raw ones are no valid JSON or no valid UTF-8.
  if (SUSPICIOUS.test(text) && !isStorable(value))
    throw apiError('BAD_REQUEST', { message: 'the body has characters that cannot be stored' });
  return value;
}

const SUSPICIOUS = /\\u(0000|d[89a-f])/i;

/** A loop, not a recursion: a megabyte of brackets must not overflow the stack. */
function isStorable(root: unknown): boolean {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') {
      if (!isStorableText(value)) return false;
    } else if (Array.isArray(value)) {
      for (const item of value) open.push(item);
    } else if (value !== null && typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) {
        if (!isStorableText(key)) return false;
        open.push(item);
      }
    }
  }
  return true;
}

function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
