import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Config } from '../config.ts';
import { createRoster } from '../process/roster.ts';

/** How slow a peer may be. */
export interface TransferLimits {
  /** Time that a transfer may stand still, ms. */
  graceMs: number;
  /** Minimum average rate beyond that, bytes a second, in either direction. */
  minBytesPerS: number;
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  socket: Socket;
  /** `socket.bytesRead` when it began. */
  readBefore: number;
  /** Time that we have waited for the rest of the body, ms. */
  waitedMs: number;
  /** The value of `socket.bytesWritten` that the peer has to reach next; null: nothing waits. */
  target: number | null;
  /** How long that has been waiting, and how long it may, ms. */
  unreadMs: number;
  unreadMaxMs: number;
  /** The bytes that wait in the process and in the kernel's queue, and for how long that has not changed, ms. */
  queued: string;
  stillMs: number;
  cut: boolean;
  /** Removes it from those that are checked. */
  leave: () => void;
}

/** As the settings say. */
export function transferLimits(
  config: Pick<Config, 'TRANSFER_GRACE_SECONDS' | 'TRANSFER_MIN_BYTES_PER_SECOND'>,
): TransferLimits {
  return {
    graceMs: config.TRANSFER_GRACE_SECONDS * 1000,
    minBytesPerS: config.TRANSFER_MIN_BYTES_PER_SECOND,
  };
}

/** How long the last words of a connection that is cut may take. */
const LAST_WORDS_MS = 1_000;
/** The head of a request is small: who has not sent it by then does not mean to. */
const HEADERS_MAX_MS = 15_000;

/**
 * Closes connections whose peer is too slow: with a request body that does not arrive (also before authentication),
 * or with an answer that is not read. Otherwise each costs a socket, a file and a share of the memory budgets for
 * as long as its peer likes.
 *
 * A peer may take the grace period, and beyond it as long as what has come so far takes at the least rate; time in
 * which we do not read does not count. A late body is answered 408 with what `timeoutAnswer` gives. Plain
 * node:http: nothing here depends on what serves the requests.
 */
// long: the checks of one timer over the exchanges that are open
export function limitTransfers(
  server: Server,
  options: TransferLimits & { timeoutAnswer: (traceId: string) => object },
): void {
  const open = createRoster<Exchange>();
  const everyMs = Math.min(1_000, Math.max(10, options.graceMs / 4));
  let timer: NodeJS.Timeout | null = null;
  let checkedMs = 0;

  server.headersTimeout = Math.min(HEADERS_MAX_MS, Math.max(1_000, options.graceMs));
  // Ours is by rate: a large body may take long, and a small one may not.
  server.requestTimeout = 0;

  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const exchange: Exchange = {
      request,
      response,
      socket: request.socket,
      readBefore: request.socket.bytesRead,
      waitedMs: 0,
      target: null,
      unreadMs: 0,
      unreadMaxMs: 0,
      queued: '',
      stillMs: 0,
      cut: false,
      leave: () => undefined,
    };
    exchange.leave = open.add(exchange);
    // An answer may be out while its request still arrives, and the other way round.
    const close = () => {
      if (!request.complete && !request.socket.destroyed) return;
      if (!response.writableFinished && !response.destroyed) return;
      exchange.leave();
    };
    request.once('close', close);
    response.once('close', close);
    if (timer === null) {
      checkedMs = performance.now();
      timer = setInterval(check, everyMs);
      timer.unref();
    }
  });

  function check(): void {
    const now = performance.now();
    // When this process itself stalled, its peers are not to blame.
    const passedMs = Math.min(now - checkedMs, 2 * everyMs);
    checkedMs = now;
    for (const exchange of open.items()) {
      if (exchange.socket.destroyed || isOver(exchange)) exchange.leave();
      else if (!exchange.cut) {
        checkBody(exchange, passedMs);
        checkAnswer(exchange, passedMs);
      }
    }
    if (open.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  }

  function isOver({ request, response }: Exchange): boolean {
    return request.complete && (response.writableFinished || response.destroyed);
  }

  function checkBody(exchange: Exchange, passedMs: number): void {
    const { request, socket } = exchange;
    // We read the bytes in our buffers ourselves.
    if (request.complete || request.readableLength > 0) return;
    exchange.waitedMs += passedMs;
    const received = socket.bytesRead - exchange.readBefore;
    if (exchange.waitedMs > options.graceMs + msFor(received)) refuse(exchange);
  }

  function checkAnswer(exchange: Exchange, passedMs: number): void {
    const { socket } = exchange;
    const waiting = socket.writableLength;
    if (exchange.target === null || socket.bytesWritten - waiting >= exchange.target) {
      exchange.target = waiting > 0 ? socket.bytesWritten : null;
      exchange.unreadMs = 0;
      exchange.unreadMaxMs = options.graceMs + msFor(waiting);
      exchange.stillMs = 0;
      return;
    }
    exchange.unreadMs += passedMs;
    const queued = `${waiting} ${writeQueueOf(socket)}`;
    exchange.stillMs = queued === exchange.queued ? exchange.stillMs + passedMs : 0;
    exchange.queued = queued;
    if (exchange.unreadMs > exchange.unreadMaxMs || exchange.stillMs > options.graceMs) cut(exchange);
  }

  function msFor(bytes: number): number {
    return (bytes * 1000) / options.minBytesPerS;
  }

  function refuse(exchange: Exchange): void {
    const { response } = exchange;
    if (response.headersSent) {
      cut(exchange);
      return;
    }
    exchange.cut = true;
    const traceId = (response.getHeader('x-trace-id') as string | undefined) ?? randomUUID();
    const body = JSON.stringify(options.timeoutAnswer(traceId));
    response.writeHead(408, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'x-trace-id': traceId,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(body, () => cut(exchange));
    setTimeout(() => cut(exchange), LAST_WORDS_MS).unref();
  }

  function cut(exchange: Exchange): void {
    exchange.cut = true;
    exchange.leave();
    const { request, socket } = exchange;
    // Node considers a request done once it is answered: whoever reads its body would wait forever.
    if (!request.complete) request.destroy(new Error('the request took too long to arrive'));
    socket.destroy();
  }
}

/**
 * The bytes of the write under way that the peer has not taken, as Node's own socket timeout looks at it: an
 * answer in one piece shows no other progress. Without it such an answer has its time by the rate alone.
 */
function writeQueueOf(socket: Socket): number {
  return (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
}
