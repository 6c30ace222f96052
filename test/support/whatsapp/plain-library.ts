import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type {
  KeyChanges,
  KeyStore,
  LibraryLog,
  LibrarySocket,
  WhatsAppLibrary,
} from '@posthorn/network/whatsapp/library-types.ts';

/** With the methods that the library's users send by. */
export interface PlainSocket extends LibrarySocket {
  sendMessage(jid: string, content: { text: string }): Promise<unknown>;
}

/**
 * The library as it comes, without the replacements of `network/whatsapp/library.ts`: a baseline to compare the driver
 * with. It trusts the simulated network whose root is given.
 */
export async function loadPlainLibrary(root: Uint8Array): Promise<WhatsAppLibrary> {
  const folder = createRequire(new URL('../../../network/whatsapp/library/', import.meta.url));
  const library = (await import(
    pathToFileURL(folder.resolve('@whiskeysockets/baileys')).href
  )) as WhatsAppLibrary;
  library.WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root);
  return library;
}

/** Keys in memory: nothing is written anywhere. */
export function keysInMemory(): KeyStore {
  const values = new Map<string, unknown>();
  return {
    async get(kind, ids) {
      const found: Record<string, unknown> = {};
      for (const id of ids) {
        const value = values.get(`${kind} ${id}`);
        if (value !== undefined) found[id] = value;
      }
      return found;
    },
    async set(changes: KeyChanges) {
      for (const [kind, byId] of Object.entries(changes)) {
        for (const [id, value] of Object.entries(byId ?? {})) {
          if (value === null || value === undefined) values.delete(`${kind} ${id}`);
          else values.set(`${kind} ${id}`, value);
        }
      }
    },
  };
}

export const SILENT_LOG: LibraryLog = {
  level: 'silent',
  child: () => SILENT_LOG,
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
};
