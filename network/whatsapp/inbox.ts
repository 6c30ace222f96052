/**
 * Keeps messages between decryption and recording. Decrypting a message uses up its key: after that the
 * network's copy is worthless, and the library acknowledges it by itself. So the plain text is stored
 * together with the advanced ratchet, in one write, and deleted when the owner has recorded the message.
 * Texts left over when a session begins are handed over again, before it decrypts anything: the network repeats those
 * that were not acknowledged, and their keys are used up.
 */
import { createHash } from 'node:crypto';
import { forgetFormerNames } from './former-names.ts';
import { type Announced, createParts, type Parts, type Plain } from './inbox-parts.ts';
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

const PARTS: ReadonlySet<string> = new Set(['msg', 'pkmsg', 'skmsg']);

/**
 * Decrypts once: returns a stored text, or decrypts and stores the text with its ratchet. The next message does not
 * wait until they are durable, only what is sent does: messages that arrive together are stored in one commit.
 */
function createDecryption(
  { keys, hold, notOpened }: Pick<InboxDeps, 'keys' | 'hold' | 'notOpened'>,
  parts: Parts,
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
    const open = async () => {
      const opened = await decrypt().catch((err) => {
        if (about && !about.isHidden && !OPENED_BEFORE.test(String(err))) notOpened(about.attrs);
        throw err;
      });
      if (about) await transactional.set({ [KINDS.plain]: { [id]: { ...about, bytes: opened, turn } } });
      return opened;
    };
    const bytes = await keys.collect(() => transactional.transaction(open, ONE_LOCK));
    hold(keys.stored());
    if (about) parts.remember(id, { ...about, bytes, turn });
    return bytes;
  };
}

/** The signal library's words for a message whose key was used. */
const OPENED_BEFORE = /Key used already|old counter/;

interface InboxDeps {
  library: WhatsAppLibrary;
  keys: SharedKeys;
  store: KeyStore;
  log: LibraryLog;
  commits: { maxCommitRetries: number; delayBetweenTriesMs: number };
  lids: LidQuestions;
  /** Frames that are sent from now on wait for this. */
  hold(work: Promise<unknown>): void;
  /** A part of a message cannot be opened. The library asks for it again, and confirms it then. */
  notOpened(attrs: Announced['attrs']): void;
  nowMs(): number;
}

export function createInbox(deps: InboxDeps): Inbox {
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
      forgetFormerNames(repository.lidMapping, transactional, () => namesOf(auth.creds));
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
        if (part.tag !== 'enc' || !PARTS.has(part.attrs.type ?? '')) continue;
        const isHidden = part.attrs['decrypt-fail'] === 'hide';
        if (part.content instanceof Uint8Array)
          parts.announced.set(hashOf(part.content), isHidden ? { ...about, isHidden } : about);
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
