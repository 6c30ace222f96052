import { type ErrorCode, errorEnvelope } from '@posthorn/contract/errors.ts';
import { INTEGER_ID_MAX } from '@posthorn/contract/limits.ts';
import { errorsOf, metaOf, type RouteMeta } from '@posthorn/contract/route-meta.ts';
import type { Role } from '@posthorn/core/access/principal.ts';
import { UUID_FORM } from '@posthorn/core/platform/ids.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import { type AppRoute, isAppRouteOtherResponse } from '@ts-rest/core';
import type { z } from 'zod/v4';

/** Data about a route, computed once so that a request only reads it. */
export interface PreparedRoute {
  /** Dotted name in the contract, e.g. `messages.sendText`; also its label in the metrics. */
  name: string;
  path: string;
  meta: RouteMeta;
  /** False: the handler authenticates, or no authentication is needed. */
  authenticates: boolean;
  takesKey: boolean;
  /** Null: every role. */
  roles: ReadonlySet<Role> | null;
  /** All methods but GET: the CSRF token is required if the browser's cookie is sent (ACC-12). */
  checksCsrf: boolean;
  params: readonly PreparedParam[];
  body: z.ZodType | null;
  /** Its body may contain media as `media_base64`. */
  takesBase64: boolean;
  query: z.ZodType | null;
  answers: ReadonlyMap<number, PreparedAnswer>;
  /** Every code the contract allows for this route. */
  errors: ReadonlySet<ErrorCode>;
  observe: (status: number, durationMs: number, call: ObservedCall) => void;
}

/** The data that observers get about an answered request. */
export interface ObservedCall {
  readonly traceId: string;
  readonly method: string;
  readonly admitted: { companyId: number } | null;
}

/** The receivers of figures and traces about answers. */
export interface Observers {
  metrics: Metrics;
  /** Absent without a listener. */
  trace?: Trace | undefined;
}

export interface PreparedParam {
  name: string;
  fits: Shape;
  /** A UUID, which is one in whatever case. */
  isUuid: boolean;
  /** The answer to a malformed value: the same as for an unknown id. */
  notFound: ErrorCode;
  notFoundMessage: string | undefined;
}

/** `schema` null: no body is declared. `contentType` null: JSON. */
export interface PreparedAnswer {
  schema: z.ZodType | null;
  contentType: string | null;
}

type Shape = (value: string) => boolean;

const isUuid: Shape = (value) => UUID_FORM.test(value);
const isInteger = integerUpTo(INTEGER_ID_MAX);
/** Ids of `bigint` columns, up to JavaScript's largest safe integer. */
const isBigInteger = integerUpTo(Number.MAX_SAFE_INTEGER);

/** PostgreSQL stores no NUL. */
const isStorable: Shape = (value) => !value.includes('\0');

/**
 * Ids looked up by type, by the name of the parameter, or of its route and it; a malformed one is answered like an unknown
 * one. Other parameters (a message id, a
 * JID, a phone) are left to their use case, unless no column can hold them.
 */
const SHAPES: Record<string, Shape> = {
  instanceId: isUuid,
  eventId: isUuid,
  mediaId: isUuid,
  taskId: isUuid,
  webhookId: isInteger,
  companyId: isInteger,
  userId: isInteger,
  logId: isBigInteger,
  itemId: isInteger,
  id: isInteger,
  'admin.reprocessEvent id': isBigInteger,
};

const ROLES: Record<RouteMeta['access'], ReadonlySet<Role> | null> = {
  public: null,
  all: null,
  owner_admin: new Set(['owner', 'admin']),
  owner: new Set(['owner']),
  superadmin: new Set(),
};

export function prepareRoute(name: string, route: AppRoute, observers: Observers): PreparedRoute {
  const meta = metaOf(route);
  return {
    name,
    path: route.path,
    meta,
    authenticates: meta.auth !== 'none' && meta.auth !== 'refresh',
    takesKey: meta.auth === 'any',
    roles: ROLES[meta.access],
    checksCsrf: route.method !== 'GET' && meta.auth !== 'none' && meta.csrf !== 'optional',
    params: paramsOf(name, route),
    body: schemaOf('body' in route ? route.body : undefined),
    takesBase64: meta.raw === 'multipart' && 'body' in route && hasField(route.body, 'media_base64'),
    query: schemaOf(route.query),
    answers: new Map(
      Object.entries(route.responses).map(([status, answer]) => [
        Number(status),
        isAppRouteOtherResponse(answer)
          ? { schema: null, contentType: answer.contentType }
          : { schema: schemaOf(answer), contentType: null },
      ]),
    ),
    errors: new Set(errorsOf(route)),
    observe: observer(observers, name),
  };
}

/** Probes are timed and not traced: they would be most of the traces. */
function observer({ metrics, trace }: Observers, name: string): PreparedRoute['observe'] {
  const time = metrics.requestTimer(name);
  if (!trace || name.startsWith('health.')) return time;
  return (status, durationMs, { traceId, method, admitted }) => {
    time(status, durationMs);
    trace({
      traceId,
      name: `${method} ${name}`,
      kind: 'server',
      isRequest: true,
      durationMs,
      attributes: {
        'http.request.method': method,
        'http.response.status_code': status,
        'http.route': name,
        ...(admitted && { 'posthorn.company_id': admitted.companyId }),
      },
      failure: status >= 500 ? `status ${status}` : undefined,
    });
  };
}

/**
 * The parameters whose shape is checked. The metadata's `notFound` applies to the first one, the resource at
 * the beginning of the path; later ones answer with their own code (`messageId`: MESSAGE_NOT_FOUND) or
 * NOT_FOUND, whichever the route documents.
 */
function paramsOf(routeName: string, route: AppRoute): PreparedParam[] {
  const { notFound, notFoundMessages = {} } = metaOf(route);
  const documented = errorsOf(route);
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return names.flatMap((name, at) => {
    const own = [`${name.replace(/Id$/, '').toUpperCase()}_NOT_FOUND`, 'NOT_FOUND'] as ErrorCode[];
    // INVALID_ID concerns the shape itself, for every id (billing, ERR-9).
    const ofAll = at === 0 || notFound === 'INVALID_ID';
    const code = ofAll ? notFound : own.find((candidate) => documented.includes(candidate));
    const fits = SHAPES[`${routeName} ${name}`] ?? SHAPES[name] ?? isStorable;
    // A login provider has its own codes, and its name has none of these shapes.
    if (fits === isStorable && code === undefined && notFound === undefined) return [];
    return [
      {
        name,
        fits,
        isUuid: fits === isUuid,
        notFound: code ?? notFound ?? 'NOT_FOUND',
        notFoundMessage: notFoundMessages[name],
      },
    ];
  });
}

function integerUpTo(max: number): Shape {
  return (value) => /^[1-9]\d{0,15}$/.test(value) && Number(value) <= max;
}

function schemaOf(value: unknown): z.ZodType | null {
  return typeof value === 'object' && value !== null && 'safeParse' in value ? (value as z.ZodType) : null;
}

function hasField(schema: unknown, name: string): boolean {
  const { shape } = schema as { shape?: object };
  return shape !== undefined && Object.hasOwn(shape, name);
}

/** Describes requests to paths of no contract: the console's, and those that nothing serves. `name` is their metric's. */
export function routeOutsideContract(observers: Observers, name: string): PreparedRoute {
  return {
    name,
    path: '*',
    meta: { auth: 'none', access: 'public', errors: [], summary: '' },
    authenticates: false,
    takesKey: false,
    roles: null,
    checksCsrf: false,
    params: [],
    body: null,
    takesBase64: false,
    query: null,
    answers: new Map([[404, { schema: errorEnvelope, contentType: null }]]),
    errors: new Set(['NOT_FOUND', 'BAD_REQUEST', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR']),
    observe: observer(observers, name),
  };
}
