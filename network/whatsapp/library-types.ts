/**
 * The parts of the library we use, declared by us: types must check without the library, and its own types
 * promise more than we rely on.
 */
import type { EventEmitter } from 'node:events';
import type { Agent } from 'node:http';
import type { Dispatcher } from 'undici';
import type { ClientVersion } from './client-version.ts';
import type { RawSocket } from './frame-gate.ts';
import type { Askers } from './library-askers.ts';
import type { LibraryGroup, ListRecipient, SendGroup } from './library-group-types.ts';
import type { LibraryBusinessProfile, LibraryCollection, LibraryProduct } from './library-shop-types.ts';
import type { AskLids } from './lid-questions.ts';
import type { MappingCache } from './mapping-cache.ts';
import type { WireKey, WireMessage, WireNumber } from './wire/wire-types.ts';

export interface WhatsAppLibrary {
  /** The library's signature functions. Its own `verify` is replaced by ours: see `signatures.ts`. */
  Curve: {
    sign(privateKey: Uint8Array, message: Uint8Array): Uint8Array;
    verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
  };
  /** The root that signs the certificates of the network's servers. */
  WA_CERT_DETAILS: { SERIAL: number; ISSUER: string; PUBLIC_KEY: Uint8Array };
  makeWASocket(config: LibraryConfig): LibrarySocket;
  initAuthCreds(): LibraryCreds;
  addTransactionCapability(store: KeyStore, log: LibraryLog, options: CommitTries): TransactionalKeyStore;
  DEFAULT_CONNECTION_CONFIG: { makeSignalRepository: MakeSignalRepository; version: ClientVersion };
  decodeMessageNode(node: WireNode, me: string, meLid: string): { fullMessage: LibraryMessage };
  cleanMessage(message: LibraryMessage, me: string, meLid: string): void;
  encodeBinaryNode(node: WireNode): Uint8Array;
  unpadRandomMax16(padded: Uint8Array): Uint8Array;
  proto: {
    Message: {
      encode(message: WireMessage): { finish(): Uint8Array };
      decode(bytes: Uint8Array): WireMessage;
      fromObject(message: object): WireMessage;
      AppStateSyncKeyData: { fromObject(value: object): unknown };
      PollVoteMessage: {
        encode(vote: { selectedOptions: Uint8Array[] }): { finish(): Uint8Array };
        decode(bytes: Uint8Array): { selectedOptions?: Uint8Array[] | null };
      };
      ReactionMessage: { decode(bytes: Uint8Array): NonNullable<WireMessage['reactionMessage']> };
    };
  };
}

export interface LibraryConfig {
  waWebSocketUrl: string;
  version: ClientVersion;
  auth: { creds: LibraryCreds; keys: KeyStore };
  logger: LibraryLog;
  browser: [string, string, string];
  agent?: Agent | undefined;
  fetchAgent?: Agent | undefined;
  /** The dispatcher of `fetch` for its downloads. */
  options: { dispatcher: Dispatcher };
  connectTimeoutMs: number;
  keepAliveIntervalMs: number;
  defaultQueryTimeoutMs: number;
  markOnlineOnConnect: boolean;
  syncFullHistory: boolean;
  emitOwnEvents: boolean;
  /** It handles no other message while it waits for so long after asking for one again. */
  retryRequestDelayMs: number;
  generateHighQualityLinkPreview: boolean;
  transactionOpts: CommitTries;
  shouldIgnoreJid(jid: string): boolean;
  getMessage(key: WireKey): Promise<WireMessage | undefined>;
  cachedGroupMetadata(jid: string): Promise<SendGroup>;
  makeSignalRepository: MakeSignalRepository;
}

export interface CommitTries {
  maxCommitRetries: number;
  delayBetweenTriesMs: number;
}

/** Silent, because the library logs bodies and numbers. */
export interface LibraryLog {
  level: string;
  child(about: object): LibraryLog;
  trace(...about: unknown[]): void;
  debug(...about: unknown[]): void;
  info(...about: unknown[]): void;
  warn(...about: unknown[]): void;
  error(...about: unknown[]): void;
}

export interface LibraryCreds {
  me?: { id: string; lid?: string | null; name?: string | null } | null;
  account?: unknown;
  [field: string]: unknown;
}

/** Values by id, by kind; null removes one. */
export type KeyChanges = Record<string, Record<string, unknown>>;
export interface KeyStore {
  get(kind: string, ids: string[]): Promise<Record<string, unknown>>;
  set(changes: KeyChanges): Promise<void>;
}
export interface TransactionalKeyStore extends KeyStore {
  transaction<T>(work: () => Promise<T>, lock: string): Promise<T>;
}

export type MakeSignalRepository = (
  auth: { creds: LibraryCreds; keys: KeyStore },
  log: LibraryLog,
  askLids?: AskLids,
) => SignalRepository;

export interface SignalRepository {
  decryptMessage(message: { jid: string; type: string; ciphertext: Uint8Array }): Promise<Uint8Array>;
  decryptGroupMessage(message: { group: string; authorJid: string; msg: Uint8Array }): Promise<Uint8Array>;
  validateSession(jid: string): Promise<{ exists: boolean }>;
  lidMapping: {
    mappingCache: MappingCache;
    getPNForLID(lid: string): Promise<string | null>;
    getPNsForLIDs(lids: string[]): Promise<{ pn: string; lid: string }[] | null>;
    getLIDForPN(phoneJid: string): Promise<string | null>;
    getLIDsForPNs(phoneJids: string[]): Promise<{ pn: string; lid: string }[] | null>;
    storeLIDPNMappings(pairs: { lid: string; pn: string }[]): Promise<void>;
  };
}

/** One element of the network's protocol. */
export interface WireNode {
  tag: string;
  attrs: Record<string, string | undefined>;
  content?: readonly WireNode[] | Uint8Array | string | undefined;
}

/** A message with its envelope. */
export interface LibraryMessage {
  key: WireKey;
  message?: WireMessage | null;
  messageTimestamp?: WireNumber | null;
  /** A message from a history has its secret and author here alone. */
  messageSecret?: Uint8Array | null;
  participant?: string | null;
  pushName?: string | null;
  /** `peer`: between devices of the account. */
  category?: string | null;
  /** Ours: nobody has given its content, and it is told without; see `withheld.ts`. */
  isGivenUp?: boolean;
  /** Ours: who gets it by a list of the account; see `own-lists.ts`. */
  recipients?: readonly ListRecipient[] | undefined;
  status?: number | null;
  starred?: boolean | null;
  messageStubType?: number | null;
}

export interface LibrarySocket {
  ws: EventEmitter & { socket?: RawSocket | null; isOpen: boolean };
  ev: {
    on<K extends keyof LibraryEvents>(event: K, listen: (told: LibraryEvents[K]) => void): void;
    emit<K extends keyof LibraryEvents>(event: K, told: LibraryEvents[K]): boolean;
  };
  signalRepository: SignalRepository;
  /** The devices of people, by the first part of each of their names. */
  userDevicesCache: { del(user: string): unknown };
  /** Its memory of messages that devices may request again. */
  messageRetryManager?: { addRecentMessage(chat: string, id: string, message: WireMessage): void } | null;
  /** Ours: see `library-socket.ts`. */
  askers: Askers;
  openStatuses: Map<string, WireNode['attrs']>;
  sendNode(node: WireNode): Promise<void>;
  end(error: Error | undefined): unknown;
  query(node: WireNode): Promise<WireNode>;
  /** Encrypts the bytes of a stanza for this connection and sends them. */
  sendRawMessage(bytes: Uint8Array): Promise<void>;
  requestPairingCode(phone: string): Promise<string>;
  relayMessage(jid: string, message: WireMessage, options: RelayOptions): Promise<string>;
  readMessages(keys: WireKey[]): Promise<void>;
  /** Asks the account's phone for a message; `about` is kept for some seconds, for the answer. */
  requestPlaceholderResend(key: WireKey, about: Partial<LibraryMessage>): Promise<unknown>;
  updateMediaMessage(message: LibraryMessage): Promise<LibraryMessage>;
  sendPresenceUpdate(state: string, jid?: string): Promise<void>;
  presenceSubscribe(jid: string): Promise<void>;
  chatModify(change: object, jid: string): Promise<void>;
  appPatch(change: object): Promise<void>;
  resyncAppState(collections: string[], isInitialSync: boolean): Promise<void>;
  updateBlockStatus(jid: string, action: 'block' | 'unblock'): Promise<void>;
  rejectCall(callId: string, from: string): Promise<void>;
  profilePictureUrl(jid: string, type: 'image' | 'preview'): Promise<string | undefined>;
  fetchStatus(...jids: string[]): Promise<unknown[] | undefined>;
  updateProfileName(name: string): Promise<void>;
  updateProfileStatus(about: string): Promise<void>;
  removeProfilePicture(jid: string): Promise<void>;
  getBusinessProfile(jid: string): Promise<LibraryBusinessProfile | undefined>;
  getCatalog(options: { jid: string; limit: number; cursor?: string | undefined }): Promise<{
    products: LibraryProduct[];
    nextPageCursor?: string | undefined;
  }>;
  getCollections(jid: string, limit: number): Promise<{ collections: LibraryCollection[] }>;
  /** Emits the answer as `reachoutTimeLock` of `connection.update`. */
  fetchAccountReachoutTimelock(): Promise<unknown>;
  groupMetadata(jid: string): Promise<LibraryGroup>;
  groupFetchAllParticipating(): Promise<Record<string, LibraryGroup>>;
  groupCreate(name: string, participants: string[]): Promise<LibraryGroup>;
  groupLeave(jid: string): Promise<void>;
  groupUpdateSubject(jid: string, name: string): Promise<void>;
  groupUpdateDescription(jid: string, description?: string): Promise<void>;
  groupSettingUpdate(jid: string, setting: string): Promise<void>;
  groupParticipantsUpdate(
    jid: string,
    participants: string[],
    action: string,
  ): Promise<{ status: string; jid?: string | undefined }[]>;
  groupInviteCode(jid: string): Promise<string | undefined>;
  groupRevokeInvite(jid: string): Promise<string | undefined>;
  groupAcceptInvite(code: string): Promise<string | undefined>;
}

interface RelayOptions {
  messageId: string;
  additionalAttributes?: Record<string, string>;
  additionalNodes?: WireNode[];
  statusJidList?: string[] | undefined;
}

export interface LibraryContact {
  id?: string;
  lid?: string | null;
  phoneNumber?: string | null;
  name?: string | null;
  notify?: string | null;
}

export interface LibraryChat {
  id?: string | null;
  ephemeralExpiration?: number | null;
  name?: string | null;
  unreadCount?: number | null;
  archived?: boolean | null;
  pinned?: WireNumber | null;
  muteEndTime?: WireNumber | null;
}

export interface LibraryEvents {
  'connection.update': {
    connection?: 'open' | 'connecting' | 'close';
    qr?: string | undefined;
    lastDisconnect?: { error?: Error };
    reachoutTimeLock?: { isActive?: boolean; timeEnforcementEnds?: Date };
  };
  'creds.update': Partial<LibraryCreds>;
  'messages.upsert': { messages: LibraryMessage[]; type: string };
  'messaging-history.set': {
    chats: LibraryChat[];
    contacts: LibraryContact[];
    messages: LibraryMessage[];
    lidPnMappings?: { lid: string; pn: string }[];
    progress?: number | null;
    chunkOrder?: number | null;
    syncType?: number | null;
  };
  'messages.update': { key: WireKey; update: { starred?: boolean | null } }[];
  'contacts.upsert': LibraryContact[];
  'chats.update': LibraryChat[];
  'lid-mapping.update': { lid: string; pn: string };
  'presence.update': {
    id: string;
    presences: Record<string, { lastKnownPresence: string; lastSeen?: number | undefined }>;
  };
  'groups.upsert': LibraryGroup[];
  'groups.update': (Partial<LibraryGroup> & { author?: string })[];
  'group-participants.update': {
    id: string;
    author?: string;
    authorPn?: string;
    participants: ({ id: string; phoneNumber?: string | null } | string)[];
    action: string;
  };
  'blocklist.update': { blocklist: string[]; type: 'add' | 'remove' };
  call: {
    id: string;
    from: string;
    callerPn?: string;
    status: string;
    isVideo?: boolean;
    groupJid?: string;
    date: Date;
  }[];
  'labels.edit': { id: string; name?: string; color?: number; deleted?: boolean };
  'labels.association': {
    association: { type: string; chatId: string; labelId: string; messageId?: string };
    type: 'add' | 'remove';
  };
  'settings.update': { setting: string; value: unknown };
}
