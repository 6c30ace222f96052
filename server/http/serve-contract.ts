import { apiError } from '@posthorn/contract/api-error.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { parseInput } from '@posthorn/contract/validation-error.ts';
import type { AppRouter } from '@ts-rest/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { sendAnswer } from './answer.ts';
import { sendError } from './answer-error.ts';
import type { Call } from './call.ts';
import { type AppDeps, callOf } from './create-app.ts';
import { admit, type GateDeps } from './gate.ts';
import type { Answer, AnyHandler, Handlers } from './handler.ts';
import { forgetPlaceholder, type MediaIntake, readMediaBody } from './media-body.ts';
import { type PreparedRoute, prepareRoute } from './prepared-route.ts';

export interface ServeDeps extends AppDeps, GateDeps {
  /** For routes that take media (`raw: 'multipart'`); absent in a service that has none. */
  intake?: MediaIntake;
}

/**
 * Serves every route of a contract. A request passes, in this order: trace id and CORS, authentication,
 * rate limit, role, verified e-mail, Idempotency-Key (all in gate.ts, before the body is read), the shape
 * of its path, query and body, the handler, and the check of its answer.
 *
 * One hook and one handler a route, made at registration; a request allocates its Call and nothing else
 * of ours. The router's own validation, serialization and logging are not used.
 */
export function serveContract<C extends AppRouter>(
  app: FastifyInstance,
  contract: C,
  handlers: Handlers<C>,
  deps: ServeDeps,
): void {
  const routes = listRoutes(contract).map(({ name, route }) => ({
    name,
    route,
    prepared: prepareRoute(name, route, deps.metrics),
  }));
  const takesMedia = ({ prepared }: { prepared: PreparedRoute }) => prepared.meta.raw === 'multipart';
  for (const { name, route, prepared } of routes.filter((each) => !takesMedia(each))) {
    app.route({
      method: route.method as HTTPMethods,
      url: route.path,
      // A HEAD of an endless answer would never end.
      exposeHeadRoute: route.method === 'GET' && prepared.meta.raw !== 'sse' && prepared.meta.raw !== 'ws',
      onRequest: openGate(deps, prepared),
      handler: runHandler(deps, prepared, handlerAt(handlers, name)),
    });
  }
  // In a context of their own, in which nothing parses a body: they read it as it arrives.
  app.register(async (media) => {
    media.removeAllContentTypeParsers();
    media.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
    for (const { name, route, prepared } of routes.filter(takesMedia)) {
      media.route({
        method: route.method as HTTPMethods,
        url: route.path,
        bodyLimit: Number.MAX_SAFE_INTEGER,
        onRequest: openGate(deps, prepared),
        handler: runHandler(deps, prepared, withMedia(deps, prepared, handlerAt(handlers, name))),
      });
    }
  });
}

/** Receives the body, then judges it and calls the handler; the file, if any, lasts as long as that. */
function withMedia(deps: ServeDeps, prepared: PreparedRoute, handler: AnyHandler): AnyHandler {
  return async (input) => {
    const call = input as Call;
    const received = await readMediaBody(
      deps.intake ?? null,
      prepared,
      call.request.raw,
      call.principal.companyId,
    );
    try {
      call.body = parseInput(prepared.body!, received.body, 'body', prepared.meta.bodyCodes);
      call.file = received.file;
      if (received.file) forgetPlaceholder(call.body as Record<string, unknown>);
      return await handler(call);
    } finally {
      await received.release();
    }
  };
}

function handlerAt(handlers: object, name: string): AnyHandler {
  let found: unknown = handlers;
  for (const key of name.split('.')) found = (found as Record<string, unknown> | undefined)?.[key];
  if (typeof found !== 'function') throw new Error(`no handler for ${name}`);
  return found as AnyHandler;
}

function openGate(deps: ServeDeps, prepared: PreparedRoute) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const call = callOf(deps, request, reply, prepared);
    let waiting: undefined | Promise<undefined>;
    // From here on errors are the handler's, those of its body included (spec 7.1).
    const pass = (): void => {
      call.inGate = false;
      done();
    };
    try {
      waiting = admit(deps, call);
    } catch (err) {
      sendError(deps, call, err);
      return;
    }
    if (waiting === undefined) pass();
    else {
      waiting.then(pass, (err: unknown) => sendError(deps, call, err));
    }
  };
}

function runHandler(deps: ServeDeps, prepared: PreparedRoute, handler: AnyHandler) {
  const finish = (call: Call, answer: Answer | undefined): void => {
    if (answer === undefined) return;
    try {
      sendAnswer(deps, call, answer);
    } catch (err) {
      sendError(deps, call, err);
    }
  };
  return (request: FastifyRequest, _reply: FastifyReply): void => {
    const call = request.call!;
    let answer: Answer | undefined | Promise<Answer | undefined>;
    try {
      parseCall(prepared, call);
      answer = handler(call);
    } catch (err) {
      sendError(deps, call, err);
      return;
    }
    if (answer instanceof Promise) {
      answer.then(
        (value) => finish(call, value),
        (err: unknown) => sendError(deps, call, err),
      );
    } else finish(call, answer);
  };
}

/** Reads the path, the query and the body by the contract; throws what is wrong with them. */
function parseCall(prepared: PreparedRoute, call: Call): void {
  const { request } = call;
  for (const { name, shape, notFound, notFoundMessage } of prepared.params) {
    if (shape.test(call.params[name]!)) continue;
    throw apiError(notFound, notFoundMessage === undefined ? {} : { message: notFoundMessage });
  }
  if (request.raw.url!.includes('%00'))
    throw apiError('BAD_REQUEST', { message: 'the path or query holds a NUL' });
  if (prepared.query !== null) call.query = parseInput(prepared.query, request.query, 'query');
  // A body with media is read by the handler's own wrapper.
  if (prepared.body !== null && prepared.meta.raw !== 'multipart')
    call.body = parseInput(prepared.body, request.body, 'body', prepared.meta.bodyCodes);
}
