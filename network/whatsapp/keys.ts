/** The library's keys in our store: its kinds are ours, its bytes are base64. */
import { types } from 'node:util';
import type { SessionKey, SessionKeys } from '@posthorn/core/network/driver.ts';
import type { KeyStore, LibraryCreds, WhatsAppLibrary } from './library-types.ts';

/** Kinds besides the library's own. */
export const KINDS = {
  /** The account's identity and counters, one row. */
  creds: 'creds',
  /** A message as it went over the wire: for quotes, forwards, edits of captions, votes and what devices ask for again. */
  message: 'message',
  /** The last message of a chat, which changes of the chat have to name. */
  tail: 'tail',
  /** What was decrypted and is not recorded yet. */
  plain: 'plain',
  /** Who is saved on the phone: the audience of statuses. */
  contact: 'contact',
  /** Whom statuses go to. */
  audience: 'audience',
} as const;

const CREDS_ID = 'me';
/** Comes back as an object of the library's own. */
const SYNC_KEY = 'app-state-sync-key';

export async function readCreds(keys: SessionKeys): Promise<LibraryCreds | null> {
  const found = (await keys.read(KINDS.creds, [CREDS_ID])).get(CREDS_ID);
  return found === undefined ? null : (unpack(found) as LibraryCreds);
}

export function credsChange(creds: LibraryCreds): SessionKey {
  return { kind: KINDS.creds, id: CREDS_ID, value: pack(creds) };
}

/**
 * Names of keys that the store takes. The library makes some of what senders write, such as the group of a sender key,
 * and a name with which the database fails would end the session each time that the message comes. No person, group or
 * device has such a name: there is nothing to read or to keep.
 */
const NAME = /^[\x20-\x7e]{1,512}$/;

/** The keys of one connection. */
export interface ConnectionKeys extends KeyStore {
  /**
   * Takes nothing more, and resolves when what is being written is written: the library may be decrypting when its
   * connection ends, and the next one reads what this one leaves.
   */
  close(): Promise<void>;
}

/** `onFailure` is told of a read or a write that failed, before the library is. */
export function createKeyStore(
  library: WhatsAppLibrary,
  keys: SessionKeys,
  onFailure: (err: unknown) => void,
): ConnectionKeys {
  const underWay = new Set<Promise<void>>();
  let isClosed = false;
  return {
    async get(kind, ids) {
      // Without its keys the library would refuse what arrived, and the network forgets what was refused.
      const names = ids.filter((id) => NAME.test(id));
      if (names.length === 0) return {};
      const found = await keys.read(kind, names).catch((err) => {
        onFailure(err);
        throw err;
      });
      const entries = [...found].map(([id, value]): [string, unknown] => {
        const unpacked = unpack(value);
        if (kind !== SYNC_KEY) return [id, unpacked];
        return [id, library.proto.Message.AppStateSyncKeyData.fromObject(unpacked as object)];
      });
      return Object.fromEntries(entries);
    },
    async set(changes) {
      const list = Object.entries(changes).flatMap(([kind, byId]) =>
        Object.entries(byId ?? {})
          .filter(([id]) => NAME.test(id))
          .map(([id, value]) => ({
            ...{ kind, id, value: pack(value ?? null) },
            ...(kind === KINDS.plain ? { temporary: true } : {}),
          })),
      );
      if (list.length === 0) return;
      if (isClosed) throw new Error('the connection has ended');
      const written = keys.write(list);
      underWay.add(written);
      try {
        await written;
      } catch (err) {
        onFailure(err);
        throw err;
      } finally {
        underWay.delete(written);
      }
    },
    async close() {
      isClosed = true;
      await Promise.allSettled(underWay);
    },
  };
}

/** Bytes in JSON. */
interface Packed {
  $bytes: string;
}

/** Any value of the library as JSON has it: bytes as base64, its objects by their own fields. */
export function pack(value: unknown): unknown {
  if (types.isUint8Array(value)) return { $bytes: Buffer.from(value).toString('base64') } satisfies Packed;
  if (Array.isArray(value)) return value.map(pack);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, each]) => each !== undefined && typeof each !== 'function');
  return Object.fromEntries(fields.map(([name, each]) => [name, pack(each)]));
}

export function unpack(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value !== 'object' || value === null) return value;
  if ('$bytes' in value && typeof value.$bytes === 'string') return Buffer.from(value.$bytes, 'base64');
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, unpack(each)]));
}
