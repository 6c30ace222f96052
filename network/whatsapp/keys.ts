/** The library's keys in our store: its kinds are kept, its bytes become base64. */
import { types } from 'node:util';
import type { SessionKey, SessionKeys } from '@posthorn/core/network/driver.ts';
import type { KeyStore, LibraryCreds, WhatsAppLibrary } from './library-types.ts';

/** Kinds besides the library's own. */
export const KINDS = {
  /** The account's identity and counters, one row. */
  creds: 'creds',
  /**
   * A message in wire format: for quotes, forwards, caption edits, votes, and devices that request it again.
   */
  message: 'message',
  /** The last message of the account itself in a chat; changes of the chat must name its last message. */
  tail: 'tail',
  /** The last message of others in a chat: who reads it on the phone has read the chat. */
  heard: 'heard',
  /** Decrypted texts that are not recorded yet. */
  plain: 'plain',
  /** The contacts saved on the phone: the audience of statuses. */
  contact: 'contact',
  /** The privacy setting of statuses. */
  audience: 'audience',
  /** The people who are blocked, as the network told last. */
  blocked: 'blocked',
  /** After how many seconds messages of a chat disappear; without a row they stay. */
  timer: 'timer',
  /** The names by which the network takes messages to people; see `addressing.ts`. */
  addressing: 'addressing',
  /** An encrypted message whose outcome is not recorded yet. */
  stanza: 'stanza',
  /** A message that the network withholds, and that the phone has not given yet; see `withheld.ts`. */
  withheld: 'withheld',
} as const;

/** Names a row among those of all kinds. */
export function rowName(kind: string, id: string): string {
  return `${kind} ${id}`;
}

const CREDS_ID = 'me';
/**
 * The library makes the record of a session anew for each write, in JSON, and does not change one that it has read. So
 * it is not copied: each send reads and writes several.
 */
const SESSION = 'session';
/** Must be restored as an object of the library. */
const SYNC_KEY = 'app-state-sync-key';

export async function readCreds(keys: SessionKeys): Promise<LibraryCreds | null> {
  const found = (await keys.read(KINDS.creds, [CREDS_ID])).get(CREDS_ID);
  return found === undefined ? null : (unpack(found) as LibraryCreds);
}

export function credsChange(creds: LibraryCreds): SessionKey {
  return { kind: KINDS.creds, id: CREDS_ID, value: pack(creds) };
}

/**
 * Key names the store accepts. The library builds some of them from senders' data, such as the group of a
 * sender key, and a name that the database refuses would end the session each time the message arrives. No
 * person, group or device has such a name, so there is nothing to read or store.
 */
const NAME = /^[\x20-\x7e]{1,512}$/;
/**
 * The row in which the library lists all contacts with a token, to remove old tokens. It would be written anew with each
 * new contact, and the library uses no old token anyway.
 */
const TOKEN_LIST = { kind: 'tctoken', id: '__index' };

function isKept(kind: string, id: string): boolean {
  return NAME.test(id) && !(kind === TOKEN_LIST.kind && id === TOKEN_LIST.id);
}

/** The keys of one connection. */
export interface ConnectionKeys extends KeyStore {
  /**
   * Rejects further writes, and resolves when those in progress are done: the library may be decrypting when
   * its connection ends, and the next connection reads what this one stored.
   */
  close(): Promise<void>;
}

/** `onFailure` is called with a failed read or write before the library gets the error. */
export function createKeyStore(
  library: WhatsAppLibrary,
  keys: SessionKeys,
  onFailure: (err: unknown) => void,
): ConnectionKeys {
  const underWay = new Set<Promise<void>>();
  let isClosed = false;
  return {
    async get(kind, ids) {
      // Without its keys the library would refuse the message, and the network forgets refused messages.
      const names = ids.filter((id) => isKept(kind, id));
      if (names.length === 0) return {};
      const found = await keys.read(kind, names).catch((err) => {
        onFailure(err);
        throw err;
      });
      const entries = [...found].map(([id, value]): [string, unknown] => {
        const unpacked = kind === SESSION ? value : unpack(value);
        if (kind !== SYNC_KEY) return [id, unpacked];
        return [id, library.proto.Message.AppStateSyncKeyData.fromObject(unpacked as object)];
      });
      return Object.fromEntries(entries);
    },
    async set(changes) {
      const list = Object.entries(changes).flatMap(([kind, byId]) =>
        Object.entries(byId ?? {})
          .filter(([id]) => isKept(kind, id))
          .map(([id, value]) => ({
            ...{ kind, id, value: kind === SESSION ? (value ?? null) : pack(value ?? null) },
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

/** Converts any value of the library to JSON: bytes become base64, objects their own fields. */
export function pack(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (types.isUint8Array(value)) return { $bytes: Buffer.from(value).toString('base64') } satisfies Packed;
  if (Array.isArray(value)) return value.map(pack);
  return mapFields(value, (each) => (typeof each === 'function' ? undefined : pack(each)));
}

export function unpack(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(unpack);
  if ('$bytes' in value && typeof value.$bytes === 'string') return Buffer.from(value.$bytes, 'base64');
  return mapFields(value, unpack);
}

/**
 * A copy with each field mapped, without those that become undefined. A loop, because each send copies the keys of its
 * session several times, and lists of names and values take almost three times as long.
 */
function mapFields(value: object, map: (each: unknown) => unknown): Record<string, unknown> {
  const mapped: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const to = map(value[name as keyof typeof value]);
    if (to !== undefined) mapped[name] = to;
  }
  return mapped;
}
