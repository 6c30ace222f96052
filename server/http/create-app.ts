import { randomUUID } from 'node:crypto';
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import { apiError } from '@posthorn/contract/api-error.ts';
import { type ErrorCode, errorCatalogue } from '@posthorn/contract/errors.ts';
import { JSON_BODY_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { AddressReader } from '@posthorn/core/platform/client-address.ts';
import type { Metrics } from '@posthorn/core/platform/metrics.ts';
import { limitTransfers, type TransferLimits } from '@posthorn/core/platform/transfer-limits.ts';
import { type FastifyInstance, fastify } from 'fastify';
import { type ErrorDeps, sendError } from './answer-error.ts';
import { Call, UPGRADE, type Upgrade } from './call.ts';
import type { Cors } from './cors.ts';
import { parseJson } from './parse-json.ts';
import { type PreparedRoute, unmatchedRoute } from './prepared-route.ts';

export interface AppDeps extends ErrorDeps {
  cors: Cors;
  metrics: Metrics;
  addressOf: AddressReader;
  transfers: TransferLimits;
  /** Behind TLS, so that browsers are told to stay there. */
  isProduction: boolean;
}

declare module 'fastify' {
  interface FastifyRequest {
    call: Call | null;
  }
}

/** Routers of the id of a whole chat or of a network message fit; longer ones name nothing (404). */
const PARAM_MAX_CHARS = 256;

/** A Fastify instance that answers our way wherever it speaks: unknown routes, bad bodies, bad HTTP. */
export function createApp(deps: AppDeps): FastifyInstance {
  const unmatched = unmatchedRoute(deps.metrics);
  const app = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: JSON_BODY_MAX_BYTES,
    routerOptions: { maxParamLength: PARAM_MAX_CHARS },
    // While draining, requests on open connections are still answered, with `connection: close`.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Whose word on the client's address is believed, our own reader says.
    trustProxy: false,
    // Not every `Upgrade` is ours to follow: HTTP/2 clients offer h2c with ordinary requests.
    http: { shouldUpgradeCallback: isWebSocket, connectionsCheckingInterval: 1_000 } as object,
    frameworkErrors: (err, request, reply) => {
      sendError(deps, callOf(deps, request as never, reply as never, unmatched), err);
    },
    clientErrorHandler: answerBadHttp,
  });
  limitTransfers(app.server, {
    ...deps.transfers,
    timeoutAnswer: (traceId) => fullEnvelope('REQUEST_TIMEOUT', REQUEST_TIMEOUT, traceId),
  });
  app.decorateRequest('call', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    try {
      // A route without a body ignores one: many clients send `{}` or a content type with every POST.
      done(null, request.call?.route.body ? parseJson(text as string) : undefined);
    } catch (err) {
      done(err as Error);
    }
  });
  app.addContentTypeParser('*', (request, payload, done) => {
    if (request.call?.route.body)
      return done(apiError('BAD_REQUEST', { message: 'the content type must be application/json' }));
    payload.resume();
    done(null, undefined);
  });
  app.setNotFoundHandler((request, reply) => {
    sendError(deps, request.call ?? callOf(deps, request, reply, unmatched), apiError('NOT_FOUND'));
  });
  app.setErrorHandler((err, request, reply) => {
    sendError(deps, request.call ?? callOf(deps, request, reply, unmatched), err);
  });
  app.options('*', (request, reply) => {
    reply.headers({
      ...deps.cors.preflight(request.headers),
      'x-trace-id': request.id,
      ...alwaysHeaders(deps),
    });
    reply.code(204).send();
  });
  app.server.on('upgrade', (request, socket, head) => {
    runUpgrade(app, request, { socket, head });
  });
  return app;
}

/**
 * A connection that becomes idle only after the close began (a stream that has just ended) would be kept
 * until its time-out: they are looked for until none is left.
 */
export async function closeApp(app: FastifyInstance): Promise<void> {
  const sweep = setInterval(() => app.server.closeIdleConnections(), 25);
  await app.close().finally(() => clearInterval(sweep));
}

/** The record of a request, with the headers that every answer carries. */
export function callOf(
  deps: Pick<AppDeps, 'cors' | 'addressOf' | 'isProduction'>,
  request: Call['request'],
  reply: Call['reply'],
  route: PreparedRoute,
): Call {
  const headers: Record<string, string> = { 'x-trace-id': request.id, ...alwaysHeaders(deps) };
  deps.cors.apply(request.raw.headers, headers);
  const call = new Call(request, reply, route, headers, deps.addressOf);
  request.call = call;
  return call;
}

const ALWAYS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
const ALWAYS_IN_PRODUCTION = { ...ALWAYS, 'strict-transport-security': 'max-age=31536000' };

/**
 * No answer is kept by a cache or read as another type than it says, unless its handler says otherwise
 * (media): most hold somebody's data, many a secret, and one that is forgotten in a list would be the one.
 */
function alwaysHeaders({ isProduction }: { isProduction: boolean }): Record<string, string> {
  return isProduction ? ALWAYS_IN_PRODUCTION : ALWAYS;
}

function isWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * An upgrade runs through the routes like any request, so it meets the same gate and its refusals are
 * ordinary answers; the handler of a WebSocket route takes the socket (`takeUpgrade`).
 */
function runUpgrade(app: FastifyInstance, request: IncomingMessage, upgrade: Upgrade): void {
  const { socket } = upgrade;
  (request as IncomingMessage & { [UPGRADE]?: Upgrade })[UPGRADE] = upgrade;
  socket.on('error', () => socket.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as never);
  response.on('finish', () => {
    response.detachSocket(socket as never);
    socket.end();
  });
  app.routing(request, response);
}

const REQUEST_TIMEOUT = errorCatalogue.REQUEST_TIMEOUT.message;

function fullEnvelope(code: ErrorCode, message: string, traceId: string): object {
  return { error_code: code, message, trace_id: traceId, error: message };
}

/** What Node could not parse never becomes a request; it is answered on the bare socket. */
function answerBadHttp(err: Error & { code?: string }, socket: import('node:net').Socket): void {
  if (err.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
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
