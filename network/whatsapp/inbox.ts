/**
 * Keeps messages between decryption and recording. Decrypting a message uses up its key: after that the
 * network's copy is worthless, and the library acknowledges it by itself. So the plain text is stored
 * together with the advanced ratchet, in one write, and deleted when the owner has recorded the message.
 * Texts left over when a session begins are handed over again, before it decrypts anything: the network repeats those
 * that were not acknowledged, and their keys are used up.
 */
import { createHash } from 'node:crypto';
import { KINDS, unpack } from './keys.ts';
import type { ListRecipient } from './library-group-types.ts';
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
import { recipientsIn } from './own-lists.ts';
import type { SharedKeys } from './shared-keys.ts';

/** Statements of a part's stanza about it. */
interface Announced {
  attrs: Record<string, string>;
  recipients?: ListRecipient[] | undefined;
}

/** One decrypted part of a message. */
interface Plain extends Announced {
  bytes: Uint8Array;
  /** Increases from part to part, also across sessions. Absent in data stored by an older version. */
  turn?: number;
}

export interface Inbox {
  /** The library's repository of sessions, with each decryption stored. */
  makeRepository: MakeSignalRepository;
  /** Notes the parts of an incoming message. Called before the library decrypts them. */
  announce(node: WireNode): void;
  /** The library produced this message, which will be recorded. */
  claim(messageId: string): void;
  /**
   * Hands over messages that an earlier session decrypted and nobody recorded. Decryption waits until that is done.
   * Rejects if they cannot be read; then it may be called again.
   */
  handOverLeftOver(me: { id: string; lid: string }, take: (message: LibraryMessage) => void): Promise<void>;
  /** The people who get a message of the account by one of its lists. */
  recipientsOf(messageId: string): readonly ListRecipient[] | undefined;
  /** The message is recorded. */
  done(messageId: string): void;
}

/** Recorded texts are kept this long: the network may repeat a message if the acknowledgement was lost. */
const KEEP_MS = 5 * 60_000;
const SWEEP_MS = 60_000;
/**
 * In a flood, only this much of them: their acknowledgements left long ago. One that is repeated nevertheless cannot be
 * opened again, is asked for, and is then dropped by its id.
 */
const KEEP_MAX = 2_000;
const KEEP_BYTES_MAX = 2 * 1024 * 1024;
const PARTS: ReadonlySet<string> = new Set(['msg', 'pkmsg', 'skmsg']);

/** The known parts: incoming ones, decrypted ones, and recorded ones. */
function createParts(keys: SharedKeys, nowMs: () => number) {
  /** Decrypted parts, by the hash of their cipher text. */
  const plains = new Map<string, Plain>();
  /** Incoming parts, by the hash of their cipher text. */
  const announced = new Map<string, Announced>();
  const partsOf = new Map<string, string[]>();
  /** Decrypted messages that the library has not emitted yet, the oldest first. */
  const unclaimed = new Map<string, number>();
  const recorded: { ids: string[]; bytes: number; atMs: number }[] = [];
  let recordedBytes = 0;
  let sweptAtMs = nowMs();
  let lastTurn = 0;
  function done(messageId: string): void {
    unclaimed.delete(messageId);
    const ids = partsOf.get(messageId);
    if (!ids) return;
    partsOf.delete(messageId);
    const bytes = ids.reduce((sum, id) => sum + (plains.get(id)?.bytes.byteLength ?? 0), 0);
    recorded.push({ ids, bytes, atMs: nowMs() });
    recordedBytes += bytes;
  }

  /** The library fails on some messages without emitting them: their text would never be dropped. */
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
    recipientsOf: (messageId: string) => plains.get(partsOf.get(messageId)?.[0] ?? '')?.recipients,
    done,
    /** Removes many in one write: a row kept too long only costs a repeat, which the owner drops. */
    sweep(): void {
      const now = nowMs();
      const isMuch = recorded.length > KEEP_MAX || recordedBytes > KEEP_BYTES_MAX;
      if (now - sweptAtMs < SWEEP_MS && !isMuch) return;
      sweptAtMs = now;
      giveUpUnclaimed(now);
      const gone: string[] = [];
      for (let [oldest] = recorded; oldest; [oldest] = recorded) {
        // Half of the most, so that a flood removes many in one write.
        const isTooMuch = isMuch && (recorded.length > KEEP_MAX / 2 || recordedBytes > KEEP_BYTES_MAX / 2);
        if (!isTooMuch && now - oldest.atMs <= KEEP_MS) break;
        recorded.shift();
        recordedBytes -= oldest.bytes;
        gone.push(...oldest.ids);
      }
      if (gone.length === 0) return;
      for (const id of gone) plains.delete(id);
      // At worst the rows are handed over again.
      keys.writeLater(gone.map((id) => ({ kind: KINDS.plain, id, value: null })));
    },
  };
}

/**
 * Decrypts once: returns a stored text, or decrypts and stores the text with its ratchet. The next message does not
 * wait until they are durable, only what is sent does: messages that arrive together are stored in one commit.
 */
function createDecryption(
  { keys, hold }: { keys: SharedKeys; hold(work: Promise<unknown>): void },
  parts: ReturnType<typeof createParts>,
  handedOver: Promise<void>,
) {
  return async function once(
    transactional: TransactionalKeyStore,
    ciphertext: Uint8Array,
    decrypt: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    await handedOver;
    const id = hashOf(ciphertext);
    const about = parts.announced.get(id);
    parts.announced.delete(id);
    const known = parts.plains.get(id);
    if (known) return known.bytes;
    const turn = parts.nextTurn();
    const bytes = await keys.collect(() =>
      transactional.transaction(async () => {
        const opened = await decrypt();
        if (about) await transactional.set({ [KINDS.plain]: { [id]: { ...about, bytes: opened, turn } } });
        return opened;
      }, ONE_LOCK),
    );
    hold(keys.stored());
    if (about) parts.remember(id, { ...about, bytes, turn });
    return bytes;
  };
}

export function createInbox(deps: {
  library: WhatsAppLibrary;
  keys: SharedKeys;
  store: KeyStore;
  log: LibraryLog;
  commits: { maxCommitRetries: number; delayBetweenTriesMs: number };
  lids: LidQuestions;
  /** Frames that are sent from now on wait for this. */
  hold(work: Promise<unknown>): void;
  nowMs(): number;
}): Inbox {
  const { library, keys, store } = deps;
  const parts = createParts(keys, deps.nowMs);
  const handedOver = Promise.withResolvers<void>();
  const once = createDecryption(deps, parts, handedOver.promise);

  return {
    makeRepository(auth, log, askLids) {
      // Separate transactions: the library sends within one of its own, and the keys used must be stored
      // before the message is sent, not after it.
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
      const about = { attrs: definedOf(node.attrs), recipients: recipientsIn(node) };
      for (const part of node.content as readonly WireNode[]) {
        if (part.tag === 'enc' && PARTS.has(part.attrs.type ?? '') && part.content instanceof Uint8Array)
          parts.announced.set(hashOf(part.content), about);
      }
    },

    async handOverLeftOver(me, take) {
      for (const [id, plain] of await readPlains(keys)) parts.remember(id, plain);
      for (const each of Map.groupBy(parts.plains.values(), nameOfStanza).values()) {
        try {
          take(rebuilt(library, each, me));
        } catch {
          // It will never be recorded, so drop it instead of reading it at the start of every session.
          parts.done(each[0]!.attrs.id ?? '');
        }
      }
      handedOver.resolve();
    },

    claim: (messageId) => parts.claim(messageId),
    recipientsOf: (messageId) => parts.recipientsOf(messageId),
    done: (messageId) => parts.done(messageId),
  };
}

/** In the order of decryption. */
async function readPlains(keys: SharedKeys): Promise<[id: string, plain: Plain][]> {
  const rows = await keys.read(KINDS.plain);
  return [...rows]
    .map(([id, value]): [string, Plain] => [id, unpack(value) as Plain])
    .sort(([, one], [, other]) => (one.turn ?? 0) - (other.turn ?? 0));
}

/** All parts of a message share these. The id alone may also be used by another sender. */
function nameOfStanza({ attrs: { from, participant, id } }: Plain): string {
  return JSON.stringify([from, participant, id]);
}

const ONE_LOCK = 'signal';

/**
 * Runs one transaction after the other. The library locks sends to a contact by its number and receipts from
 * it by its anonymous id, though both move the same ratchet: each would overwrite the other's change, and the
 * contact could not read later messages sent with used keys.
 */
function inOneLine(store: TransactionalKeyStore): TransactionalKeyStore {
  return { ...store, transaction: (work) => store.transaction(work, ONE_LOCK) };
}

/** Rebuilds the message as the library would have emitted it. Throws if the library could not build one either. */
function rebuilt(
  library: WhatsAppLibrary,
  parts: readonly Plain[],
  me: { id: string; lid: string },
): LibraryMessage {
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
}

/** The network's two names for our own account. */
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
