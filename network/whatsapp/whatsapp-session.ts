/** One instance's session with the network. `session-end.ts` ends it. */
import type { NetworkSession, OpenRequest, SessionSink } from '@posthorn/core/network/driver.ts';
import { act } from './actions.ts';
import { forgetAudience } from './audience.ts';
import { learnBlocked, onAccountSync } from './blocked.ts';
import { onChangedNumber } from './changed-numbers.ts';
import { createContext } from './create-context.ts';
import { dropDeviceErrors, onDevices, onOwnDevices } from './device-lists.ts';
import { endingOf, readEnding } from './disconnects.ts';
import { createFrameGate } from './frame-gate.ts';
import { onGroupNotification } from './group-notifications.ts';
import { createInbox, namesOf } from './inbox.ts';
import { createKeyStore } from './keys.ts';
import { passBuffer } from './library-events.ts';
import { receiveStanza } from './library-stanzas.ts';
import type { LibraryConfig, LibraryEvents, LibraryLog, LibrarySocket, WireNode } from './library-types.ts';
import { downloadReceived } from './media/received.ts';
import { createMediaServers } from './media/servers.ts';
import { handleOneByOne } from './one-by-one.ts';
import { knownAddressOf } from './recipients.ts';
import { forgetAnswersAndStanzas, onAck } from './session-acks.ts';
import { onMessage } from './session-arrivals.ts';
import { type Connection, isOwn, type SessionDeps, type WhatsAppContext } from './session-context.ts';
import { afterRefusal, closeGently, end, endedSession, fail, onUnheard } from './session-end.ts';
import { learnPeople, listenToFacts, onGroupChanges } from './session-facts.ts';
import { onHistory } from './session-history.ts';
import { keepCreds, pairingCode, unlink } from './session-pairing.ts';
import { markRead } from './session-read.ts';
import { onReceipt } from './session-receipts.ts';
import { forgetSent, messageFor, noteAsker } from './session-retries.ts';
import { sendMessage } from './session-send.ts';
import { noteUnopened, noteWithheld, resumeWithheld } from './session-withheld.ts';
import { endSyncs, syncLate, syncOtherCollections } from './sync-collections.ts';
import { onTimeLock } from './time-lock.ts';
import { runAs, runAsNobody, wrapCalls } from './unheard.ts';
import { mayMatter } from './wire/jids.ts';

/** Our name in the phone's list of linked devices. */
const BROWSER: [string, string, string] = ['Posthorn', 'Chrome', '1.0.0'];
const COMMITS = { maxCommitRetries: 1, delayBetweenTriesMs: 100 };
const CONNECT_MS = 20_000;
const KEEP_ALIVE_MS = 25_000;
const QUERY_MS = 30_000;
/**
 * The network sends several codes: the first is valid for a minute, each of the others for a third of that.
 */
const FIRST_QR_MS = 60_000;
const NEXT_QR_MS = 20_000;

const SILENT: LibraryLog = {
  level: 'silent',
  child: () => SILENT,
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
};

/** Throws SendUnavailable, with a message for users, if the library or the proxy is not available. */
export async function openSession(
  deps: SessionDeps,
  request: OpenRequest,
  sink: SessionSink,
): Promise<NetworkSession> {
  const owned = { ...request, keys: wrapCalls(request.keys, runAsNobody) };
  const session = await createContext(deps, owned, wrapCalls(sink, runAsNobody));
  if (session === null) {
    // The credentials exist but their keys do not: only a new pairing helps.
    setImmediate(() => sink.disconnected('logged_out'));
    return endedSession();
  }
  const runAsSession = <T>(work: () => T): T => runAs((err, event) => onUnheard(session, err, event), work);
  runAsSession(() => connect(session));
  return wrapCalls(sessionOf(session), runAsSession);
}

function sessionOf(session: WhatsAppContext): NetworkSession {
  let closing: Promise<void> | undefined;
  return {
    send: (message) => sendMessage(session, message),
    act: (op, args) => act(session, op, args),
    download: (media) => downloadReceived(session, media),
    async typing(chat) {
      const to = knownAddressOf(session, chat) ?? chat;
      if (session.phase === 'live') await session.connection?.socket.sendPresenceUpdate('composing', to);
    },
    recorded: (ids) => forgetAnswersAndStanzas(session, ids),
    markRead: (chat, ids) => markRead(session, chat, ids),
    requestPairingCode: (phone) => pairingCode(session, phone),
    async logout() {
      await unlink(session);
      end(session, 'logged_out');
      await session.endReported.promise;
    },
    close: () => (closing ??= closeGently(session)),
  };
}

function connect(session: WhatsAppContext): void {
  const { deps, library, request, creds } = session;
  const gate = createFrameGate((err) => fail(session, err));
  const store = createKeyStore(library, request.keys, (err) => {
    gate.close();
    fail(session, err);
  });
  const nowMs = () => deps.clock.now().getTime();
  const { keys } = request;
  const { lids } = session;
  const inbox = createInbox({
    library,
    keys,
    store,
    log: SILENT,
    commits: COMMITS,
    lids,
    hold: gate.hold,
    notOpened: (attrs) => noteUnopened(session, gate, attrs),
    nowMs,
  });
  // Without a proxy the agent only adds a certificate, which an unencrypted connection does not use.
  const agent = request.proxy === null && deps.url.startsWith('ws:') ? undefined : session.agent;
  const version = deps.versions.newest(library.DEFAULT_CONNECTION_CONFIG.version);
  const config: LibraryConfig = {
    waWebSocketUrl: deps.url,
    version,
    auth: { creds, keys: store },
    logger: SILENT,
    browser: BROWSER,
    agent,
    fetchAgent: session.agent,
    options: { dispatcher: session.fetchRoute },
    connectTimeoutMs: CONNECT_MS,
    keepAliveIntervalMs: KEEP_ALIVE_MS,
    defaultQueryTimeoutMs: QUERY_MS,
    markOnlineOnConnect: false,
    syncFullHistory: false,
    emitOwnEvents: false,
    retryRequestDelayMs: 0,
    generateHighQualityLinkPreview: false,
    transactionOpts: COMMITS,
    shouldIgnoreJid: (jid) => !mayMatter(jid),
    getMessage: (key) => messageFor(session, key),
    cachedGroupMetadata: (jid) => session.groups.read(jid),
    makeSignalRepository: inbox.makeRepository,
  };
  const socket = library.makeWASocket(config);
  forgetSent(socket);
  handleOneByOne(socket.ws, session.intake);
  if (socket.ws.socket) gate.guard(socket.ws.socket);
  const findMediaServers = createMediaServers(socket, nowMs);
  const connection: Connection = { socket, gate, inbox, keys: store, findMediaServers, agent, version };
  session.connection = connection;
  if (session.isPaired) handOverLeftOver(session, connection);
  listen(session, connection);
}

function handOverLeftOver(session: WhatsAppContext, connection: Connection): void {
  session.arrivals
    .run(() =>
      connection.inbox.handOverLeftOver(namesOf(session.creds), (message) =>
        onMessage(session, connection, message),
      ),
    )
    .catch(() => undefined);
}

function listen(session: WhatsAppContext, connection: Connection): void {
  const { socket, gate, inbox } = connection;
  const { ws, ev } = socket;
  const isCurrent = () => session.connection === connection && session.phase !== 'ended';
  passBuffer(ev, {
    message: (message) => onMessage(session, connection, message),
    groupChanges: (changes) => onGroupChanges(session, changes),
    history: (part) => onHistory(session, part),
  });
  // Before the library's own listeners: it acknowledges messages that these must hold back.
  ws.prependListener('CB:message', (node: WireNode) => {
    if (!mayMatter(node.attrs.from ?? '')) return;
    inbox.announce(node);
    if (isCurrent()) noteWithheld(session, connection, node);
  });
  ws.prependListener('CB:receipt', (node: WireNode) => {
    if (!isCurrent()) return;
    noteAsker(socket, node);
    onReceipt(session, connection, node);
  });
  ws.prependListener('CB:notification,type:w:gp2', (node: WireNode) => {
    session.groups.changed(node.attrs.from ?? '');
    if (!isCurrent()) return;
    learnPeople(session, connection, node);
    onGroupNotification(session, node);
  });
  ws.prependListener('CB:notification,type:contacts', (node: WireNode) => {
    if (isCurrent()) onChangedNumber(session, connection, node);
  });
  ws.prependListener('CB:notification,type:account_sync', (node: WireNode) => {
    forgetAudience(session);
    onAccountSync(session, node);
    onOwnDevices(session, socket, node);
  });
  ws.prependListener('CB:notification,type:devices', (node: WireNode) => onDevices(socket, node));
  // A listener of this event must end the request, but the library only forwards it.
  ws.on('unexpected-response', (_request: unknown, { statusCode }: { statusCode?: number }) => {
    const message = `WebSocket Error (Unexpected server response: ${statusCode ?? 0})`;
    const read = readEnding({ message, statusCode, cause: undefined });
    if (isCurrent() && read.to === 'end') end(session, read.reason, read.error);
  });
  ws.prependListener('frame', (frame: unknown) => {
    if (endSyncs(frame)) session.isStateFetched = true;
    dropDeviceErrors(frame);
    const answer = receiveStanza(socket, frame, (jid) => isOwn(session, jid));
    if (answer && isCurrent()) socket.sendNode(answer).catch(() => undefined);
  });
  ws.on('CB:notification,type:server_sync', (node: WireNode) => syncOtherCollections(socket, node));
  ws.on('CB:ack,class:message', (node: WireNode) => onAck(session, node));
  ev.on('connection.update', (update) => {
    if (isCurrent()) onUpdate(session, connection, update);
  });
  ev.on('creds.update', (update) => {
    if (!isCurrent()) return;
    gate.hold(keepCreds(session, update));
    if (update.me?.name) showEarlyPresence(session, socket);
    // The library tells all of them again now and then.
    const isNew = update !== session.creds && (update.accountSyncCounter || update.myAppStateKeyId);
    if (isNew) syncLate(session, socket);
  });
  listenToFacts(session, ev);
}

/** Shows the presence that was asked for before the account had a name. */
function showEarlyPresence(session: WhatsAppContext, socket: LibrarySocket): void {
  const state = session.earlyPresence;
  session.earlyPresence = null;
  if (state) socket.sendPresenceUpdate(state).catch(() => undefined);
}

function onUpdate(
  session: WhatsAppContext,
  connection: Connection,
  update: LibraryEvents['connection.update'],
): void {
  const { deps, sink } = session;
  if (update.qr && !session.isPaired) {
    const holdsMs = session.qrsShown === 0 ? FIRST_QR_MS : NEXT_QR_MS;
    session.qrsShown += 1;
    sink.qr(update.qr, new Date(deps.clock.now().getTime() + holdsMs));
  }
  if (update.reachoutTimeLock) onTimeLock(session, update.reachoutTimeLock);
  if (update.connection === 'open' && session.phase === 'opening') {
    if (session.isPaired) {
      session.phase = 'live';
      sink.connected();
      resumeWithheld(session, connection);
      learnBlocked(session).catch(() => undefined);
    } else end(session, 'failed', 'the network let in a session that was not paired');
  }
  if (update.connection === 'close') {
    connection.gate.close();
    const read = readEnding(endingOf(update.lastDisconnect?.error));
    if (read.to === 'end' && read.reason === 'version_refused')
      afterRefusal(session, connection).catch((err) => onUnheard(session, err, null));
    else if (read.to === 'end') end(session, read.reason, read.error);
    else if (session.isPaired && session.phase === 'opening')
      relogIn(session, connection).catch((err) => onUnheard(session, err, null));
    else end(session, 'connection_lost');
  }
}

/** The network ended the first connection so that we log in with the new credentials. */
async function relogIn(session: WhatsAppContext, before: Connection): Promise<void> {
  await before.keys.close();
  if (session.phase === 'opening') connect(session);
}
