/**
 * Keeps the keys in memory that a session used last: to encrypt a text takes five of them. The session is the only
 * one that writes them, and a write of one that has lost its lease is refused before anything is sent.
 */
import type { SessionKeys } from '@posthorn/core/network/driver.ts';
import { rowName } from './keys.ts';

/** Kinds of the library that are read again and again. Values that their users may change are copied (`keys.ts`). */
const CACHED: ReadonlySet<string> = new Set([
  'session',
  'sender-key',
  'sender-key-memory',
  'lid-mapping',
  'device-list',
  'identity-key',
  'tctoken',
]);
/** About a megabyte. */
const ENTRIES_MAX = 256;
/** Most sessions are idle most of the time. */
const IDLE_MS = 60_000;

export function createCachedKeys(keys: SessionKeys): SessionKeys {
  /** The one used last is the last one; `undefined` for what is not there. */
  const cache = new Map<string, unknown>();
  /** A read that began before a write may bring what the write has replaced. */
  let writes = 0;
  let idle: NodeJS.Timeout | null = null;

  function put(name: string, value: unknown): void {
    cache.delete(name);
    cache.set(name, value);
    if (cache.size > ENTRIES_MAX) cache.delete(cache.keys().next().value!);
    idle ??= setTimeout(() => {
      idle = null;
      cache.clear();
    }, IDLE_MS).unref();
    idle.refresh();
  }

  return {
    async read(kind, ids) {
      if (!ids || !CACHED.has(kind)) return keys.read(kind, ids);
      const found = new Map<string, unknown>();
      const missing = ids.filter((id) => {
        const name = rowName(kind, id);
        if (!cache.has(name)) return true;
        const value = cache.get(name);
        put(name, value);
        if (value !== undefined) found.set(id, value);
        return false;
      });
      if (missing.length === 0) return found;
      const writesBefore = writes;
      const rows = await keys.read(kind, missing);
      for (const id of missing) {
        if (writes === writesBefore) put(rowName(kind, id), rows.get(id));
        if (rows.has(id)) found.set(id, rows.get(id));
      }
      return found;
    },
    async write(changes) {
      const cached = changes.filter(({ kind }) => CACHED.has(kind));
      // A failed write may have been stored or not, so its keys are read anew.
      for (const { kind, id } of cached) cache.delete(rowName(kind, id));
      writes += 1;
      try {
        await keys.write(changes);
      } finally {
        writes += 1;
      }
      for (const { kind, id, value } of cached) put(rowName(kind, id), value ?? undefined);
    },
    async clear() {
      writes += 1;
      cache.clear();
      await keys.clear();
    },
  };
}
