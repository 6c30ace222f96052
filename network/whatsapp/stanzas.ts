/**
 * Encrypted messages, from before they are sent until their outcome is recorded. Only the same bytes may be sent
 * again: a receiver's ratchet refuses a counter that it has used, while the same message encrypted anew could be
 * shown twice.
 */
import type { SessionKey } from '@posthorn/core/network/driver.ts';
import { KINDS, pack, unpack } from './keys.ts';
import type { SharedKeys } from './shared-keys.ts';

export interface Stanza {
  /** As the network gets it, without the encryption of the connection. */
  bytes: Uint8Array;
  /** Resolves when it is durable, and rejects if it could not be stored; until then it must not be sent. */
  stored: Promise<void>;
}

export interface Stanzas {
  /** The stanza of a message that this session or an earlier one has encrypted. */
  find(id: string): Promise<Stanza | undefined>;
  /** Its row, to be stored in one write with the ratchets that it moved. */
  row(id: string, bytes: Uint8Array): SessionKey;
  keep(id: string, stanza: Stanza): void;
  /** Their outcomes are recorded: nobody will ask for them again. */
  forget(ids: readonly string[]): void;
}

export function createStanzas(keys: SharedKeys): Stanzas {
  const known = new Map<string, Stanza>();
  /** All at once: there are few, and looking for each message would cost a read each. */
  let loading: Promise<void> | null = null;

  async function load(): Promise<void> {
    for (const [id, value] of await keys.read(KINDS.stanza))
      known.set(id, { bytes: unpack(value) as Uint8Array, stored: Promise.resolve() });
  }

  return {
    async find(id) {
      loading ??= load().catch((err) => {
        loading = null;
        throw err;
      });
      await loading;
      return known.get(id);
    },
    // A worker that dies after recording an outcome leaves the stanza behind.
    row: (id, bytes) => ({ kind: KINDS.stanza, id, value: pack(bytes), temporary: true }),
    keep: (id, stanza) => void known.set(id, stanza),
    forget(ids) {
      for (const id of ids) known.delete(id);
      keys.writeLater(ids.map((id) => ({ kind: KINDS.stanza, id, value: null })));
    },
  };
}
