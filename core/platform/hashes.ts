import { hash } from 'node:crypto';
import { uuidOfHex } from './ids.ts';

/** 128 bits of SHA-256 as a UUID string: a compact key of fixed size in place of a long text. */
export function hashKey(...parts: string[]): string {
  // The unit separator can't stand in a UUID, an operation or a JID, so parts never run together.
  return uuidOfHex(hash('sha256', parts.join('\u001f'), 'hex'));
}

/** JSON with the keys of every object sorted: equal for bodies that differ only in order. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).filter(([, v]) => v !== undefined);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([k, v]) => `${JSON.stringify(k)}:${canonicalJson(v)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}
