/**
 * Messages between the ratchet and the record. To decrypt a message is to use up its key: after that the network's
 * copy of it is worth nothing, and the library acknowledges it by itself. So the plain text is stored together with
 * the ratchet that it moved, in one write, and goes when the owner has recorded the message. Whatever is left when a
 * session begins is handed over again.
 */
import { createHash } from 'node:crypto';
import type { SessionKeys } from '@posthorn/core/network/driver.ts';
import { KINDS, unpack } from './keys.ts';
import type {
  KeyStore,
  LibraryCreds,
  LibraryLog,
  LibraryMessage,
  MakeSignalRepository,
  TransactionalKeyStore,
  WhatsAppLibrary,
  WireNode,
} from './library-types.ts';
import type { LidQuestions } from './lid-questions.ts';
import { MappingCache } from './mapping-cache.ts';

/** One decrypted part of a message. */
interface Plain {
  attrs: Record<string, string>;
  bytes: Uint8Array;
  /** Grows from part to part, over sessions too. Absent in what an older version has stored. */
  turn?: number;
}

export interface Inbox {
  /** The library's repository of sessions, with each decryption stored. */
  makeRepository: MakeSignalRepository;
  /** A message comes in: which parts it has. Said before the library decrypts them. */
  announce(node: WireNode): void;
  /** The library made a message of it, which will be recorded. */
  claim(messageId: string): void;
  /** What an earlier session decrypted and nobody recorded. */
  leftOver(me: { id: string; lid: string }): Promise<LibraryMessage[]>;
  /** The message is recorded. */
  done(messageId: string): void;
}

/** What is recorded stays for so long: the network may send it again when the acknowledgement was lost. */
const KEEP_MS = 5 * 60_000;
const SWEEP_MS = 60_000;
const PARTS: ReadonlySet<string> = new Set(['msg', 'pkmsg', 'skmsg']);

/** The parts that are known: those that come in, those that were decrypted, and those that are recorded by now. */
function createParts(keys: SessionKeys, nowMs: () => number) {
  /** Parts that were decrypted, by the hash of their cipher text. */
  const plains = new Map<string, Plain>();
  /** Of what is coming in: the stanza by the hash of its parts. */
  const announced = new Map<string, Record<string, string>>();
  const partsOf = new Map<string, string[]>();
  /** Messages that were decrypted and of which the library has told nothing, the oldest first. */
  const unclaimed = new Map<string, number>();
  const recorded: { ids: string[]; atMs: number }[] = [];
  let sweptAtMs = nowMs();
  let lastTurn = 0;
  function done(messageId: string): void {
    unclaimed.delete(messageId);
    const ids = partsOf.get(messageId);
    if (!ids) return;
    partsOf.delete(messageId);
    recorded.push({ ids, atMs: nowMs() });
  }

  /** The library fails with some messages and tells nothing of them: nobody would ever let go of their text. */
  function giveUpUnclaimed(now: number): void {
    for (const [messageId, atMs] of unclaimed) {
      if (now - atMs <= KEEP_MS) return;
      done(messageId);
    }
  }

  return {
    plains,
    announced,
    nextTurn(): number {
      lastTurn = Math.max(lastTurn + 1, nowMs());
      return lastTurn;
    },
    remember(id: string, plain: Plain): void {
      lastTurn = Math.max(lastTurn, plain.turn ?? 0);
      plains.set(id, plain);
      const messageId = plain.attrs.id ?? '';
      partsOf.set(messageId, [...(partsOf.get(messageId) ?? []), id]);
      unclaimed.delete(messageId);
      unclaimed.set(messageId, nowMs());
    },
    claim: (messageId: string) => unclaimed.delete(messageId),
    done,
    /** Removes in one write for many: a row that stays too long costs a repeat, which the owner drops. */
    sweep(): void {
      const now = nowMs();
      if (now - sweptAtMs < SWEEP_MS) return;
      sweptAtMs = now;
      giveUpUnclaimed(now);
      const gone: string[] = [];
      while (recorded[0] && now - recorded[0].atMs > KEEP_MS) gone.push(...recorded.shift()!.ids);
      if (gone.length === 0) return;
      for (const id of gone) plains.delete(id);
      // A failure is told by whatever is written next; the rows are handed over again at worst.
      keys.write(gone.map((id) => ({ kind: KINDS.plain, id, value: null }))).catch(() => undefined);
    },
  };
}

export function createInbox(deps: {
  library: WhatsAppLibrary;
  keys: SessionKeys;
  store: KeyStore;
  log: LibraryLog;
  commits: { maxCommitRetries: number; delayBetweenTriesMs: number };
  lids: LidQuestions;
  nowMs(): number;
}): Inbox {
  const { library, keys, store } = deps;
  const parts = createParts(keys, deps.nowMs);

  /** Decrypts once: what was decrypted before is taken from the store, and what is new is stored with its ratchet. */
  async function once(
    transactional: TransactionalKeyStore,
    ciphertext: Uint8Array,
    decrypt: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    const id = hashOf(ciphertext);
    const attrs = parts.announced.get(id);
    parts.announced.delete(id);
    const known = parts.plains.get(id);
    if (known) return known.bytes;
    const turn = parts.nextTurn();
    const bytes = await transactional.transaction(async () => {
      const opened = await decrypt();
      if (attrs) await transactional.set({ [KINDS.plain]: { [id]: { attrs, bytes: opened, turn } } });
      return opened;
    }, ONE_LOCK);
    if (attrs) parts.remember(id, { attrs, bytes, turn });
    return bytes;
  }

  return {
    makeRepository(auth, log, askLids) {
      // Transactions of its own: the library sends a message within one of its transactions, and what it encrypted
      // with must be stored before that, not after it.
      const transactional = inOneLine(library.addTransactionCapability(store, log, deps.commits));
      const repository = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(
        { creds: auth.creds, keys: transactional },
        log,
        askLids && deps.lids.around(askLids),
      );
      repository.lidMapping.mappingCache = new MappingCache();
      return {
        ...repository,
        decryptMessage: (message) =>
          once(transactional, message.ciphertext, () => repository.decryptMessage(message)),
        decryptGroupMessage: (message) =>
          once(transactional, message.msg, () => repository.decryptGroupMessage(message)),
      };
    },

    announce(node) {
      parts.sweep();
      if (!Array.isArray(node.content)) return;
      const attrs = definedOf(node.attrs);
      for (const part of node.content as readonly WireNode[]) {
        if (part.tag === 'enc' && PARTS.has(part.attrs.type ?? '') && part.content instanceof Uint8Array)
          parts.announced.set(hashOf(part.content), attrs);
      }
    },

    async leftOver(me) {
      for (const [id, plain] of await readPlains(keys)) parts.remember(id, plain);
      const messages: LibraryMessage[] = [];
      for (const each of Map.groupBy(parts.plains.values(), nameOfStanza).values()) {
        const message = rebuilt(library, each, me);
        if (message) messages.push(message);
        // It will never be recorded: it must not be read at the beginning of every session.
        else parts.done(each[0]!.attrs.id ?? '');
      }
      return messages;
    },

    claim: (messageId) => parts.claim(messageId),
    done: (messageId) => parts.done(messageId),
  };
}

/** In the order in which they were opened. */
async function readPlains(keys: SessionKeys): Promise<[id: string, plain: Plain][]> {
  const rows = await keys.read(KINDS.plain);
  return [...rows]
    .map(([id, value]): [string, Plain] => [id, unpack(value) as Plain])
    .sort(([, one], [, other]) => (one.turn ?? 0) - (other.turn ?? 0));
}

/** Parts of one message have all of these in common. Its id alone may be another sender's as well, who chose the same. */
function nameOfStanza({ attrs: { from, participant, id } }: Plain): string {
  return JSON.stringify([from, participant, id]);
}

const ONE_LOCK = 'signal';

/**
 * One transaction after the other. The library locks what is sent to a contact by its number and what comes from it by
 * its anonymous id, though both move the same ratchet: each would write back what the other has not seen, and the
 * contact could not read what is then sent with keys that were used.
 */
function inOneLine(store: TransactionalKeyStore): TransactionalKeyStore {
  return { ...store, transaction: (work) => store.transaction(work, ONE_LOCK) };
}

/** The message as the library would have told it. Null for what it could not make a message of either. */
function rebuilt(
  library: WhatsAppLibrary,
  parts: readonly Plain[],
  me: { id: string; lid: string },
): LibraryMessage | null {
  try {
    const { fullMessage } = library.decodeMessageNode(
      { tag: 'message', attrs: parts[0]!.attrs },
      me.id,
      me.lid,
    );
    for (const { bytes } of parts) {
      const decoded = library.proto.Message.decode(library.unpadRandomMax16(bytes));
      const message = decoded.deviceSentMessage?.message ?? decoded;
      fullMessage.message = fullMessage.message ? Object.assign(fullMessage.message, message) : message;
    }
    library.cleanMessage(fullMessage, me.id, me.lid);
    return fullMessage;
  } catch {
    return null;
  }
}

/** Who we are, in the two names that the network has for us. */
export function namesOf(creds: LibraryCreds): { id: string; lid: string } {
  return { id: creds.me?.id ?? '', lid: creds.me?.lid ?? '' };
}

function hashOf(ciphertext: Uint8Array): string {
  return createHash('sha256').update(ciphertext).digest('hex');
}

function definedOf(attrs: WireNode['attrs']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attrs).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
