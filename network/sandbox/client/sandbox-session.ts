/** One instance's session with the sandbox: one WebSocket, from hello to its single end. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type DisconnectReason,
  DRAIN_MS,
  type NetworkSession,
  NotConnected,
  type OpenRequest,
  type OutboundMessage,
  SendRefused,
  SendUnavailable,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { WebSocket } from 'ws';
import { z } from 'zod/v4';
import { type ClientFrame, type ServerFrame, sendItem } from '../frames.ts';
import type { SandboxLog } from '../log.ts';
import { presenceOf, withCdnAddresses } from './answers.ts';
import { envelopeOf } from './envelope.ts';
import { createEventPump, type EventPump } from './event-pump.ts';
import { createInFlight, type InFlight } from './in-flight.ts';
import { cdnUrlOf, downloadMedia, uploadMedia } from './media.ts';
import { type ReadFrame, readFrame } from './read-frame.ts';
import {
  afterEnd,
  afterHearing,
  afterHeartbeat,
  afterWelcome,
  createOutgoingFlow,
  OPENING,
  type OutgoingFlow,
  onClose,
  outcomeOf,
  reasonOf,
  type SessionState,
} from './session-state.ts';

export interface SessionDeps {
  url: string;
  log: SandboxLog;
  clock: Clock;
  sendTimeoutMs: number;
  heartbeatMs: number;
}

const credentialsShape = z.object({ token: z.string() });

/** How long `close` waits for the socket to close. */
const CLOSE_MS = 1000;
const PAIRED_RETRY_MS = 1000;
/** Enough for 64 MB over a slow line. */
const UPLOAD_MS = 120_000;
const envelope = sendItem.omit({ n: true, after: true });

/** State shared by the functions of one session. */
interface Client {
  deps: SessionDeps;
  request: OpenRequest;
  sink: SessionSink;
  socket: WebSocket;
  token: string | undefined;
  state: SessionState;
  sends: InFlight<Date>;
  calls: InFlight<unknown>;
  pump: EventPump;
  flow: OutgoingFlow;
  isFlushDue: boolean;
  /** Resolves to whether the hello was sent. */
  opened: PromiseWithResolvers<boolean>;
  timers: NodeJS.Timeout[];
}

export function openSession(deps: SessionDeps, request: OpenRequest, sink: SessionSink): NetworkSession {
  const session = createContext(deps, request, sink);
  listen(session);
  session.timers.push(
    setInterval(() => expireUnanswered(session), Math.min(500, deps.sendTimeoutMs / 2)),
    setInterval(() => checkConnection(session), deps.heartbeatMs),
  );
  let closing: Promise<void> | undefined;
  return {
    send: (message) => send(session, message),
    recorded() {},
    act: (op, args) => call(session, op, args) as Promise<never>,
    download: async (media) => downloadMedia(mediaDeps(session), media),
    async typing(chat) {
      if (session.state.phase === 'live') write(session, { t: 'typing', chat });
    },
    async markRead(chat, networkIds) {
      await call(session, 'read', { chat, ids: networkIds });
    },
    async requestPairingCode(phone) {
      return z.object({ code: z.string() }).parse(await call(session, 'pairing_code', { phone })).code;
    },
    async logout() {
      try {
        await call(session, 'logout', {});
      } catch (error) {
        // The network answers by ending the session.
        if (session.state.reason !== 'logged_out') throw error;
      }
    },
    close: () => (closing ??= closeGently(session)),
  };
}

function createContext(deps: SessionDeps, request: OpenRequest, sink: SessionSink): Client {
  const session: Client = {
    deps,
    request,
    sink,
    token: request.credentials === null ? undefined : credentialsShape.parse(request.credentials).token,
    socket: new WebSocket(deps.url, { perMessageDeflate: false, handshakeTimeout: deps.sendTimeoutMs }),
    state: OPENING,
    sends: createInFlight<Date>({ clock: deps.clock, timeoutMs: deps.sendTimeoutMs }),
    calls: createInFlight<unknown>({ clock: deps.clock, timeoutMs: deps.sendTimeoutMs }),
    pump: createEventPump({
      sink,
      log: deps.log,
      ack(seq) {
        session.flow.ack(seq);
        flushSoon(session);
      },
    }),
    flow: createOutgoingFlow(),
    isFlushDue: false,
    opened: Promise.withResolvers<boolean>(),
    timers: [],
  };
  return session;
}

function listen(session: Client): void {
  const { socket, request, deps } = session;
  socket.on('open', () => {
    write(session, { t: 'hello', instance: request.instanceId, epoch: request.epoch, token: session.token });
    session.opened.resolve(true);
  });
  socket.on('message', (data) => {
    session.state = afterHearing(session.state);
    if (session.state.phase === 'ended') return;
    let frame: ReadFrame;
    try {
      frame = readFrame(String(data));
    } catch (error) {
      deps.log.error(
        { err: error, instance_id: request.instanceId },
        'closing the connection after an unreadable frame',
      );
      socket.terminate();
      return;
    }
    handle(session, frame);
  });
  socket.on('pong', () => {
    session.state = afterHearing(session.state);
  });
  socket.on('error', (error) => {
    deps.log.debug({ err: error, instance_id: request.instanceId }, 'network connection failed');
  });
  socket.on('close', () => end(session, 'connection_lost'));
}

function write({ socket }: Client, frame: ClientFrame): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

function flushSoon(session: Client): void {
  if (session.isFlushDue) return;
  session.isFlushDue = true;
  setImmediate(() => flush(session));
}

function flush(session: Client): void {
  session.isFlushDue = false;
  const flow = session.flow.take();
  if (flow) write(session, flow);
}

function end(session: Client, reason: DisconnectReason): void {
  const { state, sends, calls } = session;
  session.state = afterEnd(state, reason);
  if (session.state === state) return;
  for (const timer of session.timers) clearInterval(timer);
  session.opened.resolve(false);
  for (const open of [sends, calls])
    open.end(() => new SendUnavailable('the session ended before the network answered'));
  void session.pump.stop();
  session.sink.disconnected(reason);
}

function handle(session: Client, frame: ReadFrame): void {
  const { deps, sink, sends, calls } = session;
  switch (frame.t) {
    case 'flow':
      for (const [n, at, reason] of frame.acks ?? []) {
        const outcome = outcomeOf(at, reason, () => deps.clock.now());
        if (outcome instanceof Error) sends.reject(n, outcome);
        else sends.resolve(n, outcome);
      }
      if (frame.events) session.pump.push(frame.events);
      return;
    case 'qr':
      sink.qr(frame.qr, new Date(frame.expires_at));
      return;
    case 'paired':
      session.token = frame.token;
      void storePairing(session, frame);
      return;
    case 'welcome':
      session.state = afterWelcome(session.state);
      sink.connected();
      return;
    case 'bye':
      end(session, reasonOf(frame.reason));
      return;
    case 'presence':
      sink.presence(frame.updates.map(presenceOf));
      return;
    case 'result':
      if (frame.error === undefined) calls.resolve(frame.n, frame.value);
      else
        calls.reject(frame.n, new SendRefused(frame.error, `the network refused the call: ${frame.error}`));
      return;
  }
}

/** The network sends nothing until the driver confirms that the credentials are stored. */
async function storePairing(session: Client, frame: Extract<ServerFrame, { t: 'paired' }>): Promise<void> {
  const { phone, jid } = frame;
  const identity = { credentials: { token: frame.token }, phone, jid, pushName: frame.push_name };
  while (session.state.phase !== 'ended') {
    try {
      await session.sink.paired(identity);
      return write(session, { t: 'paired_ok' });
    } catch (error) {
      const about = { err: error, instance_id: session.request.instanceId };
      session.deps.log.warn(about, 'recording the pairing failed; retrying');
      await delay(PAIRED_RETRY_MS);
    }
  }
}

async function send(session: Client, message: OutboundMessage): Promise<{ at: Date }> {
  if (session.state.phase !== 'live') throw new NotConnected();
  const media = message.media && (await uploadMedia(mediaDeps(session), message.media));
  const item = envelopeOf(message, media);
  // The network ends a session that sends an invalid item, and the item would then be sent again.
  if (!envelope.safeParse(item).success) throw new SendRefused('invalid_message');
  // The network must not take this send without that one: if that one has to be repeated, it goes first.
  const after = session.sends.newest();
  const at = await session.sends.ask((n) => {
    session.flow.send({ n, ...item, ...(after !== undefined && { after }) });
    flushSoon(session);
  });
  return { at };
}

async function call(session: Client, op: string, args: Record<string, unknown>): Promise<unknown> {
  if (!(await session.opened.promise)) throw new SendUnavailable('the session is not connected');
  const answer = await session.calls.ask((n) => write(session, { t: 'call', n, op, args }));
  return withCdnAddresses(answer, session.deps.url);
}

function mediaDeps({ deps, token }: Client) {
  if (token === undefined) throw new SendUnavailable('the session is not paired');
  return { cdnUrl: cdnUrlOf(deps.url), token, timeoutMs: UPLOAD_MS };
}

function expireUnanswered({ deps, sends, calls }: Client): void {
  const late = () => new SendUnavailable(`the network did not answer within ${deps.sendTimeoutMs} ms`);
  sends.expire(late);
  calls.expire(late);
}

function checkConnection(session: Client): void {
  const { socket } = session;
  if (socket.readyState !== WebSocket.OPEN) return;
  const { state, does } = afterHeartbeat(session.state);
  session.state = state;
  if (does === 'ping') socket.ping();
  else socket.terminate();
}

async function closeGently(session: Client): Promise<void> {
  const { socket } = session;
  if (session.state.phase !== 'ended') {
    session.state = onClose(session.state);
    // Events the owner is recording now are still acked, so that they are not repeated.
    await Promise.race([session.pump.stop(), delay(DRAIN_MS, undefined, { ref: false })]);
    flush(session);
    end(session, 'closed');
  }
  if (socket.readyState === WebSocket.CLOSED) return;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.close(1000);
  await Promise.race([closed, delay(CLOSE_MS, undefined, { ref: false })]);
  socket.terminate();
}
