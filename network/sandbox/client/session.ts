/** One instance's session with the sandbox: one WebSocket, from hello to its one and only end. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import { WebSocket } from 'ws';
import { z } from 'zod/v4';
import {
  type DisconnectReason,
  type NetworkSession,
  type OpenRequest,
  SendDeferred,
  SendRefused,
  SendUnavailable,
  type SessionSink,
} from '../../driver.ts';
import { type ByeReason, type ClientFrame, type SendItem, type ServerFrame, sendItem } from '../frames.ts';
import type { SandboxLog } from '../log.ts';
import { envelopeOf } from './envelope.ts';
import { createEventPump } from './event-pump.ts';
import { createInFlight } from './in-flight.ts';
import { cdnUrlOf, downloadMedia, uploadMedia } from './media.ts';
import { type ReadFrame, readFrame } from './read-frame.ts';

export interface SessionDeps {
  url: string;
  log: SandboxLog;
  clock: Clock;
  sendTimeoutMs: number;
  heartbeatMs: number;
}

const credentialsShape = z.object({ token: z.string() });

const REASONS: Record<ByeReason, DisconnectReason> = {
  replaced: 'replaced',
  stale_epoch: 'replaced',
  logged_out: 'logged_out',
  banned: 'banned',
  hard_paused: 'hard_paused',
  protocol_error: 'connection_lost',
  shutting_down: 'connection_lost',
};

/** How long `close` waits for the owner to record what it was handed, and for the socket to close. */
const DRAIN_MS = 5000;
const CLOSE_MS = 1000;
const PAIRED_RETRY_MS = 1000;
/** 64 MB over a slow line. */
const UPLOAD_MS = 120_000;
/** Refusals of a device that may have what is needed later. */
const DEFERRED: ReadonlySet<string> = new Set(['forward_unavailable']);

const envelope = sendItem.omit({ n: true });

/** A number that is no time stands for now. */
function dateOf(ms: number, clock: Clock): Date {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? clock.now() : date;
}

export function openSession(deps: SessionDeps, request: OpenRequest, sink: SessionSink): NetworkSession {
  const log = deps.log;
  let token = request.credentials === null ? undefined : credentialsShape.parse(request.credentials).token;
  const socket = new WebSocket(deps.url, { perMessageDeflate: false, handshakeTimeout: deps.sendTimeoutMs });
  const cdnUrl = cdnUrlOf(deps.url);
  const sends = createInFlight<Date>({ clock: deps.clock, timeoutMs: deps.sendTimeoutMs });
  const calls = createInFlight<unknown>({ clock: deps.clock, timeoutMs: deps.sendTimeoutMs });
  const pump = createEventPump({ sink, log, ack });
  const opened = Promise.withResolvers<boolean>();
  let live = false;
  let ended: DisconnectReason | undefined;
  let closing: Promise<void> | undefined;
  let gatheredSends: SendItem[] = [];
  let gatheredAck: number | undefined;
  let flushing = false;
  let heard = true;

  function write(frame: ClientFrame) {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  }

  /** What this tick has to say goes out in one frame. */
  function gather() {
    if (flushing) return;
    flushing = true;
    setImmediate(flush);
  }

  function flush() {
    flushing = false;
    if (gatheredSends.length === 0 && gatheredAck === undefined) return;
    const sends = gatheredSends.length > 0 ? gatheredSends : undefined;
    write({ t: 'flow', sends, ack: gatheredAck });
    gatheredSends = [];
    gatheredAck = undefined;
  }

  function ack(seq: number) {
    gatheredAck = seq;
    gather();
  }

  function end(reason: DisconnectReason) {
    if (ended) return;
    ended = reason;
    live = false;
    clearInterval(sweep);
    clearInterval(heartbeat);
    opened.resolve(false);
    const lost = () => new SendUnavailable('the session ended before the network answered');
    sends.rejectAll(lost);
    calls.rejectAll(lost);
    void pump.stop();
    sink.disconnected(reason);
  }

  function handle(frame: ReadFrame) {
    switch (frame.t) {
      case 'flow':
        for (const [n, at, reason] of frame.acks ?? []) {
          if (reason === undefined) sends.resolve(n, dateOf(at, deps.clock));
          else sends.reject(n, DEFERRED.has(reason) ? new SendDeferred(reason) : new SendRefused(reason));
        }
        if (frame.events) pump.push(frame.events);
        return;
      case 'qr':
        sink.qr(frame.qr, new Date(frame.expires_at));
        return;
      case 'paired':
        token = frame.token;
        void storePairing(frame);
        return;
      case 'welcome':
        live = true;
        sink.connected();
        return;
      case 'bye':
        end(REASONS[frame.reason]);
        return;
      case 'result':
        if (frame.error === undefined) calls.resolve(frame.n, frame.value);
        else
          calls.reject(frame.n, new SendRefused(frame.error, `the network refused the call: ${frame.error}`));
        return;
    }
  }

  /** The network sends nothing before it hears that the credentials are kept. */
  async function storePairing(frame: Extract<ServerFrame, { t: 'paired' }>) {
    const { phone, jid } = frame;
    const identity = { credentials: { token: frame.token }, phone, jid, pushName: frame.push_name };
    while (!ended) {
      try {
        await sink.paired(identity);
        return write({ t: 'paired_ok' });
      } catch (error) {
        log.warn({ err: error, instance_id: request.instanceId }, 'pairing was not recorded; repeating');
        await delay(PAIRED_RETRY_MS);
      }
    }
  }

  function mediaDeps() {
    if (token === undefined) throw new SendUnavailable('the session is not paired');
    return { cdnUrl, token, timeoutMs: UPLOAD_MS };
  }

  async function call(op: string, args: Record<string, unknown>): Promise<unknown> {
    if (!(await opened.promise)) throw new SendUnavailable('the session is not connected');
    return calls.ask((n) => write({ t: 'call', n, op, args }));
  }

  async function closeGently(): Promise<void> {
    if (!ended) {
      live = false;
      // What the owner is recording right now is still acked, so that it does not come again.
      await Promise.race([pump.stop(), delay(DRAIN_MS, undefined, { ref: false })]);
      flush();
      end('closed');
    }
    if (socket.readyState === WebSocket.CLOSED) return;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(1000);
    await Promise.race([closed, delay(CLOSE_MS, undefined, { ref: false })]);
    socket.terminate();
  }

  socket.on('open', () => {
    write({ t: 'hello', instance: request.instanceId, epoch: request.epoch, token });
    opened.resolve(true);
  });
  socket.on('message', (data) => {
    heard = true;
    if (ended) return;
    let frame: ReadFrame;
    try {
      frame = readFrame(String(data));
    } catch (error) {
      log.error(
        { err: error, instance_id: request.instanceId },
        'the network sent a frame that is not understood',
      );
      socket.terminate();
      return;
    }
    handle(frame);
  });
  socket.on('pong', () => {
    heard = true;
  });
  socket.on('error', (error) => {
    log.debug({ err: error, instance_id: request.instanceId }, 'network connection failed');
  });
  socket.on('close', () => end('connection_lost'));

  const sweep = setInterval(
    () => {
      const late = () => new SendUnavailable(`the network did not answer within ${deps.sendTimeoutMs} ms`);
      sends.expire(late);
      calls.expire(late);
    },
    Math.min(500, deps.sendTimeoutMs / 2),
  );
  const heartbeat = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (heard) {
      heard = false;
      socket.ping();
    } else {
      socket.terminate();
    }
  }, deps.heartbeatMs);

  return {
    async send(message) {
      if (!live) throw new SendUnavailable('the session is not connected');
      const media = message.media && (await uploadMedia(mediaDeps(), message.media));
      const item = envelopeOf(message, media);
      // The network ends a session that sends what it does not understand, and it would be sent again.
      if (!envelope.safeParse(item).success) throw new SendRefused('invalid_message');
      const at = await sends.ask((n) => {
        gatheredSends.push({ n, ...item });
        gather();
      });
      return { at };
    },
    act: (op, args) => call(op, args) as Promise<never>,
    download: async (media) => downloadMedia(mediaDeps(), media),
    async typing(chat) {
      if (live) write({ t: 'typing', chat });
    },
    async markRead(chat, networkIds) {
      await call('read', { chat, ids: networkIds });
    },
    async requestPairingCode(phone) {
      return z.object({ code: z.string() }).parse(await call('pairing_code', { phone })).code;
    },
    async logout() {
      try {
        await call('logout', {});
      } catch (error) {
        // The network answers by ending the session.
        if (ended !== 'logged_out') throw error;
      }
    },
    close: () => (closing ??= closeGently()),
  };
}
