import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage, type Server, ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { apiError } from '@posthorn/contract/api-error.ts';
import { type ErrorCode, errorCatalogue } from '@posthorn/contract/errors.ts';
import { beforeFirst } from '@posthorn/core/platform/before-first.ts';
import type { AddressReader } from '@posthorn/core/platform/http/client-address.ts';
import { createHttpServerCloser } from '@posthorn/core/platform/http/close-http-server.ts';
import { limitTransfers, type TransferLimits } from '@posthorn/core/platform/http/transfer-limits.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import express, { type Request, type Response } from 'express';
import { type AnswerDeps, JSON_TYPE, send } from './answer.ts';
import { type ErrorDeps, sendError } from './answer-error.ts';
import { Call, UPGRADE, type Upgrade } from './call.ts';
import type { Cors } from './cors.ts';
import { endBehindAnswers, inTurns, owesAnswer } from './in-turns.ts';
import { type PreparedRoute, routeOutsideContract } from './prepared-route.ts';

export interface AppDeps extends ErrorDeps {
  cors: Cors;
  metrics: Metrics;
  trace?: Trace | undefined;
  addressOf: AddressReader;
  transfers: TransferLimits;
  /** Behind TLS: tells browsers to use only TLS. */
  isProduction: boolean;
}

declare global {
  namespace Express {
    interface Request {
      /** Set by the gate of the matched route. */
      call?: Call;
    }
  }
}

/** An Express application with its own server. */
export interface HttpApp {
  readonly express: express.Express;
  readonly server: Server;
  /** The paths of routes that take upgrades; elsewhere a handshake is a request like any other. */
  readonly webSocketPaths: Set<string>;
  /** Resolves with the port; port 0 picks a free one. */
  listen(port: number, host: string): Promise<number>;
  /** Accepts no new connections. */
  stopListening(): Promise<void>;
  /** Stops listening; resolves when the last answer is sent. */
  close(): Promise<void>;
}

/**
 * How long an idle connection is kept: longer than load balancers keep theirs, so that they close it first.
 */
const KEEP_ALIVE_MS = 72_000;
/** How often Node checks for headers that do not arrive. */
const CHECK_CONNECTIONS_MS = 1_000;
const NO_HOST = { message: 'the header Host is required' };

/**
 * An Express application that gives every answer in our format, also for unknown routes, bad bodies and bad
 * HTTP.
 */
export function createApp(deps: AppDeps): HttpApp {
  const app = createExpress(deps);
  const unmatched = routeOutsideContract(deps, 'unmatched');
  /** Answers requests that no route handled, and errors thrown by routes. */
  const finish = (request: Request, response: Response, err: unknown): void => {
    const call = request.call ?? openCall(deps, request, response, unmatched);
    const answer = () => sendError(deps, call, err ?? apiError('NOT_FOUND'));
    if (call.holds) call.releaseAll().then(answer, answer);
    else answer();
  };
  const handle = (request: Request, response: Response): void => {
    app(request, response, (err?: unknown) => finish(request, response, err));
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.headers.host === undefined && request.httpVersion === '1.1')
      finish(request as Request, response as Response, apiError('BAD_REQUEST', NO_HOST));
    // Express would answer a preflight itself, without our headers.
    else if (request.method === 'OPTIONS') answerPreflight(deps, request, response);
    else handle(request as Request, response as Response);
  };
  const webSocketPaths = new Set<string>();
  // Only WebSocket upgrades: HTTP/2 clients offer h2c with ordinary requests.
  const server = createServer(
    {
      ...classesOf(app),
      // Node's own answers would have another form, and be none that `inTurns` knows.
      requireHostHeader: false,
      shouldUpgradeCallback: (request) => isWebSocket(request) && webSocketPaths.has(pathOf(request)),
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
    },
    inTurns(serve),
  );
  limitTransfers(server, {
    ...deps.transfers,
    timeoutAnswer: (traceId) => fullEnvelope('REQUEST_TIMEOUT', REQUEST_TIMEOUT, traceId),
  });
  const closer = createHttpServerCloser(server);
  server.on('clientError', answerBadHttp);
  // No expectation but 100-continue means anything to us: a server may pass over others (RFC 9110 10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  // Node's types say Duplex, because TLS servers may give one; a plain server gives the socket.
  server.on('upgrade', (request, socket, head) =>
    runUpgrade(serve, request, { socket: socket as Socket, head }),
  );
  return {
    express: app,
    server,
    webSocketPaths,
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    stopListening: closer.stopListening,
    close: closer.close,
  };
}

/** Express without features that the contract or our own answers replace. */
function createExpress(deps: AnswerDeps): express.Express {
  const app = express();
  for (const setting of ['case sensitive routing', 'strict routing'] as const) app.enable(setting);
  for (const setting of ['x-powered-by', 'etag'] as const) app.disable(setting);
  // ts-rest's adapter calls these with a handler's answer. Express's versions would look for an entity tag, a
  // charset and a JSON replacer, and set headers one by one.
  app.response.json = function json(this: Response, body: unknown) {
    if (Buffer.isBuffer(body)) return this.send(body);
    send(deps, this.req.call!, this.statusCode, JSON.stringify(body), JSON_TYPE);
    return this;
  };
  app.response.send = function sendBytes(this: Response, body: string | Buffer) {
    send(deps, this.req.call!, this.statusCode, body, undefined);
    return this;
  };
  return app;
}

/**
 * Express changes the prototype of every request and response, which makes V8 drop its optimized shapes.
 * Created with that prototype, they keep them.
 */
function classesOf(app: express.Express) {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as Request;
  app.response = AppResponse.prototype as unknown as Response;
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

/** Creates the record of a request, with the headers every answer carries. */
export function openCall(
  deps: Pick<AppDeps, 'cors' | 'addressOf' | 'isProduction'>,
  request: Request,
  response: Response,
  route: PreparedRoute,
): Call {
  const traceId = randomUUID();
  const answerHeaders: Record<string, string> = { 'x-trace-id': traceId, ...alwaysHeaders(deps) };
  deps.cors.apply(request.headers, answerHeaders);
  const call = new Call(request, response, route, { traceId, answerHeaders, addressOf: deps.addressOf });
  request.call = call;
  return call;
}

function answerPreflight(deps: AppDeps, request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(204, {
    ...deps.cors.preflight(request.headers),
    'x-trace-id': randomUUID(),
    ...alwaysHeaders(deps),
  });
  response.end();
}

const ALWAYS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
const ALWAYS_IN_PRODUCTION = { ...ALWAYS, 'strict-transport-security': 'max-age=31536000' };

/**
 * No answer is cached, or read as another type than declared, unless its handler allows it (media): most
 * contain someone's data, many a secret, and a list of exceptions would miss one.
 */
function alwaysHeaders({ isProduction }: { isProduction: boolean }): Record<string, string> {
  return isProduction ? ALWAYS_IN_PRODUCTION : ALWAYS;
}

/** Behind an unanswered request, the socket still belongs to that request's answer. */
function isWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket' && !owesAnswer(request.socket);
}

function pathOf({ url = '' }: IncomingMessage): string {
  return beforeFirst(url, '?');
}

/**
 * An upgrade runs through the routes like any request, so it passes the same gate and its refusals are
 * ordinary answers; the handler of a WebSocket route takes the socket (`takeUpgrade`).
 */
function runUpgrade(
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  request: IncomingMessage,
  upgrade: Upgrade,
): void {
  const { socket } = upgrade;
  (request as IncomingMessage & { [UPGRADE]?: Upgrade })[UPGRADE] = upgrade;
  socket.on('error', () => socket.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on('finish', () => {
    response.detachSocket(socket);
    // Both sides: Node watches such a connection no more, and a client that keeps its side open would hold it for ever.
    socket.destroySoon();
  });
  serve(request, response);
}

const REQUEST_TIMEOUT = errorCatalogue.REQUEST_TIMEOUT.message;

function fullEnvelope(code: ErrorCode, message: string, traceId: string): object {
  return { error_code: code, message, trace_id: traceId, error: message };
}

/** Input that Node cannot parse never becomes a request; it is answered on the raw socket. */
function answerBadHttp(err: Error & { code?: string }, socket: import('node:stream').Duplex): void {
  if (err.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (endBehindAnswers(socket as Socket)) return;
  const isLate = err.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const status = err.code === 'HPE_HEADER_OVERFLOW' ? 431 : isLate ? 408 : 400;
  const traceId = randomUUID();
  const body = JSON.stringify(
    isLate
      ? fullEnvelope('REQUEST_TIMEOUT', REQUEST_TIMEOUT, traceId)
      : fullEnvelope('BAD_REQUEST', 'the request is not valid HTTP', traceId),
  );
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nX-Trace-ID: ${traceId}\r\nConnection: close\r\n` +
      'X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n' +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
