import { ApiError, apiError } from '@posthorn/contract/api-error.ts';
import { listRoutes, type NamedRoute } from '@posthorn/contract/list-routes.ts';
import { type Issue, inputError } from '@posthorn/contract/validation-error.ts';
import { DATABASE_WAIT_MS, inTime } from '@posthorn/core/platform/database/in-time.ts';
import type { AppRoute, AppRouter } from '@ts-rest/core';
import { createExpressEndpoints, type RequestValidationError } from '@ts-rest/express';
import { type NextFunction, type Request, type Response, Router } from 'express';
import { checkAnswer } from './answer.ts';
import { sendError } from './answer-error.ts';
import type { Call } from './call.ts';
import { type AppDeps, type HttpApp, openCall } from './create-app.ts';
import { admit, type GateDeps } from './gate.ts';
import type { AnyHandler, Handlers } from './handler.ts';
import type { MediaBodies } from './media-bodies.ts';
import { type PreparedRoute, prepareRoute } from './prepared-route.ts';
import { readJson } from './read-json.ts';

export interface ServeDeps extends AppDeps, GateDeps {
  /** Absent in a service without routes that take media. */
  mediaBodies?: MediaBodies;
}

type Middleware = (request: Request, response: Response, next: NextFunction) => void;

/** The routes of one area of the paths, in the form ts-rest's adapter takes. */
interface Area {
  router: Router;
  contract: Record<string, AppRoute>;
  handlers: Record<string, { middleware: Middleware[]; handler: (input: AdapterInput) => Promise<unknown> }>;
}

interface AdapterInput {
  req: Request;
  query: unknown;
  body: unknown;
}

/**
 * Serves every route of a contract through ts-rest's Express adapter. A request passes, in this order: trace
 * id and CORS, authentication, rate limit, role, verified e-mail, Idempotency-Key (all in gate.ts, before the
 * body is read), the shape of its path, query and body, the handler, and the check of its answer.
 * Express tries routes one after another, which for a route at the end of our list costs twice as much as the
 * rest of the framework (measured: docs/decisions/0001). So each area of the paths has its own router.
 */
export function serveContract<C extends AppRouter>(
  app: HttpApp,
  contract: C,
  handlers: Handlers<C>,
  deps: ServeDeps,
): void {
  const areas = new Map<string, Area>();
  for (const { name, route } of listRoutes(contract).sort(fixedBeforeParam)) {
    const prepared = prepareRoute(name, route, deps);
    if (prepared.meta.raw === 'ws') app.webSocketPaths.add(route.path);
    const area = areaFor(areas, route.path);
    area.contract[name] = withFallback(route, prepared);
    area.handlers[name] = {
      middleware: [openGate(deps, prepared), readBody(deps, prepared)],
      handler: runHandler(deps, handlerAt(handlers, name)),
    };
  }
  for (const area of areas.values()) {
    createExpressEndpoints(area.contract, area.handlers as never, area.router, {
      logInitialization: false,
      jsonQuery: false,
      // `checkAnswer` is stricter: it also refuses fields that the schema does not have.
      responseValidation: false,
      requestValidationErrorHandler: (err, request, _response, next) =>
        next(errorOfInput(err, request as Request)),
    });
  }
  app.express.use((request, response, next) => {
    const area = areas.get(areaOf(request.path));
    if (area) area.router(request, response, next);
    else next();
  });
}

function areaFor(areas: Map<string, Area>, path: string): Area {
  const key = areaOf(path);
  let area = areas.get(key);
  if (!area) {
    const router = Router({ caseSensitive: true, strict: true });
    area = { router, contract: {}, handlers: {} };
    areas.set(key, area);
  }
  return area;
}

/**
 * The area of `/v1/webhooks/...` is `webhooks`; of `/v1/instances/{id}/messages/...`, `instances/messages`.
 */
function areaOf(path: string): string {
  const [, first = '', second = '', , fourth = ''] = path.split('/', 5);
  if (first !== 'v1') return first;
  return second === 'instances' ? `instances/${fourth}` : second;
}

/** Express takes the first matching route: `/webhooks/events` must come before `/webhooks/:webhookId`. */
function fixedBeforeParam({ route: a }: NamedRoute, { route: b }: NamedRoute): number {
  const [own, others] = [a.path.split('/'), b.path.split('/')];
  // Compares up to the end of the longer path: otherwise the comparison would not be symmetric, and the order
  // random.
  for (let at = 0; at < Math.max(own.length, others.length); at += 1) {
    const difference = isParam(own[at]) - isParam(others[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function isParam(segment = ''): number {
  return Number(segment.startsWith(':'));
}

function handlerAt(handlers: object, name: string): AnyHandler {
  let found: unknown = handlers;
  for (const key of name.split('.')) found = (found as Record<string, unknown> | undefined)?.[key];
  if (typeof found !== 'function') throw new Error(`no handler for ${name}`);
  return found as AnyHandler;
}

function openGate(deps: ServeDeps, prepared: PreparedRoute): Middleware {
  const isEndless = prepared.meta.raw === 'sse' || prepared.meta.raw === 'ws';
  return (request, response, next) => {
    // A HEAD of an endless answer would never end.
    if (isEndless && request.method === 'HEAD') return next('route');
    const call = openCall(deps, request, response, prepared);
    // From here on errors are the handler's, including those of its body: billing answers these in the
    // reduced form.
    const pass = (): void => {
      call.inGate = false;
      next();
    };
    let waiting: undefined | Promise<undefined>;
    try {
      waiting = admit(deps, call);
    } catch (err) {
      sendError(deps, call, err);
      return;
    }
    if (waiting === undefined) {
      pass();
      return;
    }
    const looked = () => {
      call.gateMs = performance.now() - call.startedAt;
      pass();
    };
    inTime(waiting, call.startedAt + DATABASE_WAIT_MS).then(looked, (err: unknown) =>
      sendError(deps, call, err),
    );
  };
}

/** A body that takes longer comes slowly, or its client holds it back. */
const LATE_BODY_MS = 5_000;

/**
 * Reads the body for the adapter to validate, and validates the path. A body with media is received and
 * validated here, because its file must always be released. A client that holds a body back must not send with
 * it after its credentials were revoked.
 */
function readBody(deps: ServeDeps, prepared: PreparedRoute): Middleware {
  const passOn = (request: Request, body: unknown, next: NextFunction): void => {
    try {
      checkPath(prepared, request.call!);
    } catch (err) {
      next(err);
      return;
    }
    // An absent body counts as an empty one, so the answer names the first missing field.
    request.body = body === undefined ? {} : body;
    next();
  };
  const received = (request: Request, body: unknown, next: NextFunction): void => {
    const { admitted, startedAt, gateMs } = request.call!;
    const now = performance.now();
    if (admitted === null || now - startedAt - gateMs < LATE_BODY_MS) {
      passOn(request, body, next);
      return;
    }
    inTime(deps.checkPrincipal(admitted), now + DATABASE_WAIT_MS).then(
      () => passOn(request, body, next),
      next,
    );
  };
  if (prepared.meta.raw === 'multipart') {
    const { mediaBodies } = deps;
    if (!mediaBodies) throw new Error(`${prepared.name} takes media, and nothing here reads it`);
    return (request, _response, next) => {
      receiveMedia(mediaBodies, prepared, request).then((body) => received(request, body, next), next);
    };
  }
  if (prepared.body === null || prepared.meta.raw === 'bytes')
    return (request, _response, next) => received(request, undefined, next);
  const { malformed, fallback } = prepared.meta.bodyCodes ?? {};
  return (request, _response, next) => {
    readJson(request).then(
      (body) => received(request, body, next),
      (err: unknown) => {
        if (!isUnreadable(err)) next(err);
        else if (fallback !== undefined) received(request, undefined, next);
        else next(malformed ? apiError(malformed, { message: err.publicMessage }) : err);
      },
    );
  };
}

/** Whether the body is not JSON or cannot be stored; a route may have its own code for that. */
function isUnreadable(err: unknown): err is ApiError {
  return err instanceof ApiError && (err.code === 'INVALID_JSON' || err.code === 'BAD_REQUEST');
}

/** If the use case also judges invalid bodies, makes the adapter pass it the fallback. */
function withFallback(route: AppRoute, { body, meta }: PreparedRoute): AppRoute {
  const fallback = meta.bodyCodes?.fallback;
  return body && fallback !== undefined ? ({ ...route, body: body.catch(fallback) } as AppRoute) : route;
}

async function receiveMedia(
  mediaBodies: MediaBodies,
  prepared: PreparedRoute,
  request: Request,
): Promise<unknown> {
  const call = request.call!;
  const media = await mediaBodies.read(prepared, request, call.principal.companyId);
  call.file = media.file;
  call.keep(media.release);
  return media.body;
}

/** Fits the longest chat id and network message id; no longer id exists. */
const PARAM_MAX_CHARS = 256;

/**
 * Throws if the path is invalid; a malformed id is answered like an unknown one. UUIDs go on in the case in which they are
 * stored: the rest of the code compares and hashes them as text.
 */
function checkPath(prepared: PreparedRoute, call: Call): void {
  for (const { name, fits, isUuid, notFound, notFoundMessage } of prepared.params) {
    const value = call.params[name]!;
    if (value.length <= PARAM_MAX_CHARS && fits(value)) {
      if (isUuid) call.params[name] = value.toLowerCase();
      continue;
    }
    throw apiError(notFound, notFoundMessage === undefined ? {} : { message: notFoundMessage });
  }
  if (prepared.query !== null && call.request.url.includes('%00'))
    throw apiError('BAD_REQUEST', { message: 'the path or query holds a NUL' });
}

function runHandler(deps: ServeDeps, handler: AnyHandler) {
  return async ({ req, query, body }: AdapterInput): Promise<unknown> => {
    const call = req.call!;
    call.query = query;
    call.body = body;
    if (call.file) deps.mediaBodies?.forgetPlaceholder(body as Record<string, unknown>);
    const answer = await handler(call);
    await call.releaseAll();
    // The handler took over the response: the adapter waits for a promise that never resolves and that
    // nothing references.
    if (answer === undefined) return new Promise(() => undefined);
    checkAnswer(deps, call, answer);
    return answer;
  };
}

/** Maps the adapter's validation errors to the contract's codes; the query comes before the body. */
function errorOfInput({ query, body }: RequestValidationError, { call }: Request): Error {
  const part = query ? 'query' : 'body';
  const { issues } = (query ?? body) as unknown as { issues: readonly Issue[] };
  const value = query ? call!.request.query : call!.request.body;
  return inputError(issues, part, value, query ? undefined : call!.route.meta.bodyCodes);
}
