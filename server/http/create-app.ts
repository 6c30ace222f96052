import { randomUUID } from 'node:crypto';
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { JSON_BODY_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { Metrics } from '@posthorn/core/platform/metrics.ts';
import { type FastifyInstance, fastify } from 'fastify';
import { type ErrorDeps, sendError } from './answer-error.ts';
import { Call, UPGRADE, type Upgrade } from './call.ts';
import type { Cors } from './cors.ts';
import { parseJson } from './parse-json.ts';
import { type PreparedRoute, unmatchedRoute } from './prepared-route.ts';

export interface AppDeps extends ErrorDeps {
  cors: Cors;
  metrics: Metrics;
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
    // Behind our own proxy or none: the client's word on its address is not believed.
    trustProxy: false,
    // Not every `Upgrade` is ours to follow: HTTP/2 clients offer h2c with ordinary requests.
    http: { shouldUpgradeCallback: isWebSocket } as object,
    frameworkErrors: (err, request, reply) => {
      sendError(deps, callOf(deps, request as never, reply as never, unmatched), err);
    },
    clientErrorHandler: answerBadHttp,
  });
  app.decorateRequest('call', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    try {
      // A route without a body ignores one: many clients send `{}` or a content type with every POST.
      done(null, request.call?.route.body ? parseJson(text as string) : undefined);
    } catch (err) {
      refuseBody(request.call, err as Error, done);
    }
  });
  app.addContentTypeParser('*', (request, payload, done) => {
    const { body, meta } = request.call?.route ?? {};
    if (body && meta?.bodyCodes?.fallback === undefined) {
      const error = apiError('BAD_REQUEST', { message: 'the content type must be application/json' });
      return refuseBody(request.call, error, done);
    }
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
    reply.headers({ ...deps.cors.preflight(request.headers), 'x-trace-id': request.id });
    reply.code(204).send();
  });
  app.server.on('upgrade', (request, socket, head) => {
    runUpgrade(app, request, { socket, head });
  });
  return app;
}

/**
 * A route may have its own code for a body that nobody can read, or take it as none at all; what is wrong
 * with it is said all the same.
 */
function refuseBody(call: Call | null, err: Error, done: (err: Error | null, body?: unknown) => void): void {
  const codes = call?.route.meta.bodyCodes;
  if (!(err instanceof ApiError)) done(err);
  else if (codes?.fallback !== undefined) done(null, undefined);
  else done(codes?.malformed ? apiError(codes.malformed, { message: err.publicMessage }) : err);
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
  deps: { cors: Cors },
  request: Call['request'],
  reply: Call['reply'],
  route: PreparedRoute,
): Call {
  const headers: Record<string, string> = { 'x-trace-id': request.id };
  deps.cors.apply(request.raw.headers, headers);
  const call = new Call(request, reply, route, headers);
  request.call = call;
  return call;
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

/** What Node could not parse never becomes a request; it is answered on the bare socket. */
function answerBadHttp(err: Error & { code?: string }, socket: import('node:net').Socket): void {
  if (err.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    err.code === 'HPE_HEADER_OVERFLOW' ? 431 : err.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
  const traceId = randomUUID();
  const message = 'the request is not valid HTTP';
  const body = JSON.stringify({ error_code: 'BAD_REQUEST', message, trace_id: traceId, error: message });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nX-Trace-ID: ${traceId}\r\nConnection: close\r\n` +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
