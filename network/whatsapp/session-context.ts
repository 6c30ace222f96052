/** Dependencies of a session. */
import type { Agent } from 'node:http';
import {
  type NetworkReceipt,
  NotConnected,
  type OpenRequest,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Dispatcher } from 'undici';
import type { Addressing } from './addressing.ts';
import type { Answers } from './answers.ts';
import type { ChatTimers } from './chat-timers.ts';
import type { ClientVersion, ClientVersions } from './client-version.ts';
import type { FrameGate } from './frame-gate.ts';
import type { GroupCache } from './group-cache.ts';
import type { Inbox } from './inbox.ts';
import type { Intake, SessionIntake } from './intake.ts';
import type { ConnectionKeys } from './keys.ts';
import type { Stamp } from './known-messages.ts';
import type { LibraryGroup } from './library-group-types.ts';
import type { LibraryCreds, LibrarySocket, WhatsAppLibrary } from './library-types.ts';
import type { LidQuestions } from './lid-questions.ts';
import type { MappingCache } from './mapping-cache.ts';
import type { FindMediaServers } from './media/servers.ts';
import type { TransferDeps } from './media/transfer.ts';
import type { MessageLines } from './message-lines.ts';
import type { Cuts } from './patience.ts';
import type { Pump } from './pump.ts';
import type { SharedKeys } from './shared-keys.ts';
import type { Stanzas } from './stanzas.ts';
import type { UnreadableBook } from './unreadable.ts';
import { preferPhone, withoutDevice } from './wire/jids.ts';
import type { Withheld } from './withheld.ts';

export interface SessionDeps {
  url: string;
  clock: Clock;
  log: Pick<Log, 'debug' | 'warn' | 'error'>;
  ca: string | undefined;
  allowPrivateProxies: boolean;
  /** A send unacknowledged for this long is sent again. */
  sendTimeoutMs: number;
  /** A send unacknowledged for this long on one connection is given up. */
  giveUpMs: number;
  /** Shared by successive sessions of each instance. */
  unreadable: UnreadableBook;
  cuts: Cuts;
  versions: ClientVersions;
  /** Shared by all sessions. */
  intake: Intake;
}

/** One connection; a session with a pairing has two in succession. */
export interface Connection {
  socket: LibrarySocket;
  gate: FrameGate;
  keys: ConnectionKeys;
  inbox: Inbox;
  findMediaServers: FindMediaServers;
  /** The way to the network; undefined: directly. */
  agent: Agent | undefined;
  /** The client version that the connection states. */
  version: ClientVersion;
}

/** A receipt as the network names people. */
export interface HeardReceipt {
  ids: readonly string[];
  kind: NetworkReceipt['kind'];
  from: string;
  author: string;
  t: string | undefined;
}

/** The privacy of statuses as the phone has it: it may name people by their anonymous ids. */
export interface Audience {
  /** `unknown`: an audience that the network has and this driver does not know, such as close friends. */
  type: 'contacts' | 'blacklist' | 'whitelist' | 'unknown';
  list: string[];
}

export interface WhatsAppContext {
  deps: SessionDeps;
  library: WhatsAppLibrary;
  request: Omit<OpenRequest, 'keys'> & { keys: SharedKeys };
  sink: SessionSink;
  creds: LibraryCreds;
  agent: Agent | undefined;
  /** The same route for the library's own fetches. */
  fetchRoute: Dispatcher;
  connection: Connection | null;
  /** `live`: logged in. `ended` is final. */
  phase: 'opening' | 'live' | 'closing' | 'ended';
  isPaired: boolean;
  /** Whether this session has fetched all of the account's state; others before it may have. */
  isStateFetched: boolean;
  /** The presence that was asked for before the phone told the account's name. */
  earlyPresence: string | null;
  qrsShown: number;
  answers: Answers;
  stanzas: Stanzas;
  addressing: Addressing;
  timers: ChatTimers;
  /** `last` resolves when the messages handed over so far are encrypted; `breaks` counts those that failed. */
  sending: { last: Promise<unknown>; breaks: number };
  /** Counts the received data that the session holds. */
  intake: SessionIntake;
  /** Hands received items over, in order; messages by {@link MessageLines}. */
  arrivals: Pump;
  messages: MessageLines;
  receipts: Pump;
  takeReceipt(receipt: HeardReceipt): Promise<void>;
  /** The last revision given to a change of the account's state; see {@link nextRevision}. */
  revision: number;
  /** The accounts that numbers lead to. */
  accounts: MappingCache;
  /** Pairs of an anonymous id and a phone, `<lid> <phone>`, that the owner was told of. */
  reportedLids: Set<string>;
  lids: LidQuestions;
  groups: GroupCache;
  /** The privacy of statuses, as the network answers; null before it was asked. */
  audience: Promise<Audience> | null;
  /** Whether the account may write to new people, as the network said last; see `time-lock.ts`. */
  timeLock: {
    isActive: boolean;
    askedAtMs: number;
    asking: Promise<void> | null;
    timer: NodeJS.Timeout | undefined;
  };
  withheld: Withheld;
  /** Looks now and then for withheld messages that are due. */
  look: NodeJS.Timeout | undefined;
  /** People who were asked to upload media again and did not, and when they were asked. */
  silent: Map<string, number>;
  /** The network's name of each caller, by call id: a call is rejected under that name. */
  callers: Map<string, string>;
  /** Resolves when the owner was told of the end. */
  endReported: PromiseWithResolvers<void>;
}

/** The connection of a logged-in session. Throws NotConnected without one. */
export function requireLive(session: WhatsAppContext): Connection {
  if (session.phase !== 'live' || !session.connection) throw new NotConnected();
  return session.connection;
}

/** Asks the network about a group; `session.groups` remembers the answer. */
export async function askGroup({ connection }: WhatsAppContext, jid: string): Promise<LibraryGroup> {
  if (!connection) throw new NotConnected();
  return connection.socket.groupMetadata(jid);
}

/** Our own address by phone number. */
export function ownJid({ creds }: WhatsAppContext): string {
  return withoutDevice(creds.me?.id ?? '');
}

/** Our own anonymous id; empty without one. */
export function ownLid({ creds }: WhatsAppContext): string {
  return withoutDevice(creds.me?.lid ?? '');
}

export function isOwn(session: WhatsAppContext, jid: string): boolean {
  const plain = withoutDevice(jid);
  return plain !== '' && (plain === ownJid(session) || plain === ownLid(session));
}

/** Our name for a person or chat: the phone's, if it is known. */
export async function nameOf(session: WhatsAppContext, jid: string, other?: string | null): Promise<string> {
  const found = preferPhone(jid, other);
  if (!found.endsWith('@lid')) return found;
  if (found === ownLid(session)) return ownJid(session);
  const phone = await session.connection?.socket.signalRepository.lidMapping
    .getPNForLID(found)
    .catch(() => null);
  const named = phone ? withoutDevice(phone) : found;
  // Until the library knows our own other name, it takes that of the recipient for ours.
  return named === ownJid(session) ? found : named;
}

/** Both names of the author of a message, if known. */
export async function namesOfAuthor(
  session: WhatsAppContext,
  { from, fromMe }: { from: string; fromMe: boolean },
): Promise<string[]> {
  if (fromMe) return [ownJid(session), ownLid(session)].filter((name) => name !== '');
  return namesFor(session, from);
}

/** Both names of another person or of a chat, if known. */
export async function namesFor(session: WhatsAppContext, jid: string): Promise<string[]> {
  const lid = await session.connection?.socket.signalRepository.lidMapping.getLIDForPN(jid).catch(() => null);
  return [jid, ...(lid ? [withoutDevice(lid)] : [])];
}

/**
 * The network numbers changes of the account's state per collection, but does not reveal the numbers. The time in
 * milliseconds also grows with each change, across sessions and workers.
 */
export function nextRevision(session: WhatsAppContext): number {
  session.revision = Math.max(session.revision + 1, session.deps.clock.now().getTime());
  return session.revision;
}

/** The time and the revision of a message, as it is stored. */
export function stampOf(session: WhatsAppContext, at = session.deps.clock.now()): Stamp {
  return { at, revision: nextRevision(session) };
}

export function transferOf(session: WhatsAppContext): TransferDeps {
  return { agent: session.agent, findServers: requireLive(session).findMediaServers, timeoutMs: 60_000 };
}
