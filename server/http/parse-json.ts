import { apiError } from '@posthorn/contract/api-error.ts';
import { JSON_DEPTH_MAX, JSON_FIELDS_MAX } from '@posthorn/contract/limits.ts';
import { shapeFault } from '@posthorn/core/platform/json-shape.ts';

/**
 * Parses the JSON text of a request. Throws 400 INVALID_JSON if it is not JSON, BAD_REQUEST if
 * - it is nested deeper than JSON_DEPTH_MAX: serializing JSON, here and in PostgreSQL, recurses for each
 *   level;
 * - it has more fields than JSON_FIELDS_MAX: a hundred thousand names cost half a second to parse and count;
 * - it holds text that PostgreSQL cannot store (a NUL, or half a surrogate pair): one such row would fail a
 *   whole batch of accepted messages.
 */
export function parseJson(text: string): unknown {
  if (text === '') return undefined;
  const fault = shapeFault(text, { depthMax: JSON_DEPTH_MAX, fieldsMax: JSON_FIELDS_MAX });
  if (fault !== null) throw apiError('BAD_REQUEST', { message: fault });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw apiError('INVALID_JSON');
  }
  // Such characters arrive only as escapes: raw ones are invalid JSON or invalid UTF-8.
  const hasEscapes = text.includes('\\u');
  if (hasEscapes && SUSPICIOUS.test(text) && !isStorable(value))
    throw apiError('BAD_REQUEST', { message: 'the body has characters that cannot be stored' });
  if (text.includes('__proto__') || (hasEscapes && UNDERSCORE.test(text))) forgetPrototypes(value);
  return value;
}

const SUSPICIOUS = /\\u(0000|d[89a-f])/i;

function isStorable(root: unknown): boolean {
  for (const value of valuesIn(root)) {
    if (typeof value === 'string') {
      if (!isStorableText(value)) return false;
    } else if (isObject(value) && !Object.keys(value).every(isStorableText)) return false;
  }
  return true;
}

const UNDERSCORE = /\\u005f/i;

/**
 * Drops fields named `__proto__`: no request has one, and in an object copied field by field it would become
 * the copy's prototype and replace missing fields.
 */
function forgetPrototypes(root: unknown): void {
  for (const value of valuesIn(root)) if (isObject(value)) Reflect.deleteProperty(value, '__proto__');
}

/** A value and all values within it. */
function* valuesIn(root: unknown): Iterable<unknown> {
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    yield value;
    if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (isObject(value)) for (const item of Object.values(value)) open.push(item);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
