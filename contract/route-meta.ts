import { type AppRoute, type AppRouteResponse, type ContractNoBodyType, initContract } from '@ts-rest/core';
import type { z } from 'zod/v4';
import { type ErrorCode, type ErrorStatus, errorCatalogue, errorEnvelope, type StatusOf } from './errors.ts';
import type { InputCodes } from './validation-error.ts';

/** The one ts-rest instance: `noBody` and `otherResponse` come from here. */
export const c = initContract();

/**
 * Credentials a route takes. `any`: JWT or API key; `jwt`: a browser session's JWT; `refresh`: the
 * refresh cookie with its CSRF header; `jwt_or_cookie`: either of the two, also of a deleted company.
 */
export type RouteAuth = 'none' | 'jwt' | 'any' | 'refresh' | 'jwt_or_cookie';

/** The callers that a route admits. `superadmin` passes everywhere. */
export type RouteAccess = 'public' | 'all' | 'owner_admin' | 'owner' | 'superadmin';

export interface RouteMeta {
  auth: RouteAuth;
  access: RouteAccess;
  /** Codes of this route beyond those that `errorsOf` derives from the rest of this record. */
  errors: readonly ErrorCode[];
  /** The code for an unknown, foreign or malformed id in the path; the answer is the same byte for byte. */
  notFound?: ErrorCode;
  /** By parameter: what that answer says where it is not the catalogue's message. */
  notFoundMessages?: Readonly<Record<string, string>>;
  /** The asynchronous send operation: requires Idempotency-Key and honours X-Force-Send. */
  operation?: string;
  /** 403 EMAIL_NOT_VERIFIED until the e-mail is verified. */
  requiresVerifiedEmail?: true;
  /** With the refresh cookie, X-CSRF-Token is recommended and not required: logging out. */
  csrf?: 'optional';
  /** The codes for a malformed body where they are not MISSING_FIELD, BAD_REQUEST and INVALID_JSON. */
  bodyCodes?: InputCodes;
  /**
   * Its handler tells a browser by a redirect that the database is away. So a request that could not be counted
   * for the same reason reaches it; it gets no further there.
   */
  tellsOutages?: true;
  /** Statuses that codes have here and not in the catalogue: 400 PLAN_NOT_FOUND on create. */
  statuses?: Readonly<Partial<Record<ErrorCode, readonly ErrorStatus[]>>>;
  /** Also takes `?ticket=` from `POST /v1/events/ticket`, for browsers. */
  ticket?: true;
  /** Asked by what watches the process: answered without the database, and limited less than other routes. */
  probe?: true;
  /**
   * Its handler checks a signature over the body. Wrong ones are limited by address and path together, since one address
   * posts for many; right ones are not.
   */
  isSigned?: true;
  /** Served by hand, not as a JSON body; `bytes`: its handler reads the body as it comes. */
  raw?: 'sse' | 'ws' | 'binary' | 'text' | 'multipart' | 'bytes';
  /** Takes Range: 416 without a body answers a range beyond the end. */
  ranges?: true;
  /** Content types of the success answer other than its JSON. */
  produces?: readonly string[];
  summary: string;
  description?: string;
}

const JWT_ERRORS = [
  'UNAUTHORIZED',
  'TOKEN_INVALID',
  'TOKEN_EXPIRED',
  'PASSWORD_CHANGED',
  'FORBIDDEN',
  'COMPANY_SUSPENDED',
  'CSRF_INVALID',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
] as const;

const AUTH_ERRORS = {
  none: ['RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
  jwt: JWT_ERRORS,
  any: JWT_ERRORS,
  jwt_or_cookie: JWT_ERRORS,
  refresh: ['REFRESH_FAILED', 'CSRF_INVALID', 'RATE_LIMITED', 'INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
} as const satisfies Record<RouteAuth, readonly ErrorCode[]>;

const ACCESS_ERRORS = {
  public: [],
  all: [],
  owner_admin: ['INSUFFICIENT_PERMISSIONS'],
  owner: ['INSUFFICIENT_PERMISSIONS'],
  superadmin: ['SUPERADMIN_REQUIRED'],
} as const satisfies Record<RouteAccess, readonly ErrorCode[]>;

const BODY_ERRORS = [
  'INVALID_JSON',
  'MISSING_FIELD',
  'BAD_REQUEST',
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
] as const;
const QUERY_ERRORS = ['BAD_REQUEST'] as const;
const OPERATION_ERRORS = [
  'IDEMPOTENCY_KEY_REQUIRED',
  'IDEMPOTENCY_KEY_REUSED',
  'BAD_REQUEST',
  'NOT_IMPLEMENTED',
] as const;

/** Errors of every question to the network of an instance. */
export const NETWORK_ERRORS = [
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_BANNED',
  'INSTANCE_HARD_PAUSED',
  'SEND_FAILED',
  'NOT_IMPLEMENTED',
] as const satisfies readonly ErrorCode[];

/** The codes that every route with these credentials can answer. */
export function commonErrors(auth: RouteAuth): readonly ErrorCode[] {
  return AUTH_ERRORS[auth];
}

type MetaInput = Omit<RouteMeta, 'errors'> & { errors?: readonly ErrorCode[] };

interface RouteDef {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  query?: z.ZodType;
  body?: z.ZodType | ContractNoBodyType;
  contentType?: 'application/json' | 'multipart/form-data';
  /** Success answers only; the error answers follow from the codes. */
  responses: Record<number, AppRouteResponse>;
}

type CodesOf<M extends MetaInput, D> =
  | (typeof AUTH_ERRORS)[M['auth']][number]
  | (typeof ACCESS_ERRORS)[M['access']][number]
  | (M extends { errors: readonly (infer E extends ErrorCode)[] } ? E : never)
  | (M extends { notFound: infer N extends ErrorCode } ? N : never)
  | (M extends { operation: string } ? (typeof OPERATION_ERRORS)[number] : never)
  | (M extends { requiresVerifiedEmail: true } ? 'EMAIL_NOT_VERIFIED' : never)
  | (D extends { body: z.ZodType } ? (typeof BODY_ERRORS)[number] : never)
  | (D extends { query: z.ZodType } ? (typeof QUERY_ERRORS)[number] : never);

type ErrorResponses<Status extends number> = { [S in Status]: typeof errorEnvelope };

type Route<M extends MetaInput, D extends RouteDef> = Omit<D, 'responses'> & {
  responses: D['responses'] & ErrorResponses<Exclude<StatusOf<CodesOf<M, D>>, keyof D['responses']>>;
  /** Two facts stay visible in types, since clients need them: which routes take a key, and which are not JSON. */
  metadata: RouteMeta & Pick<M, ('operation' | 'raw') & keyof M>;
  strictStatusCodes: true;
  summary: string;
  description?: string;
};

/**
 * One endpoint. The error statuses of its responses are computed from its codes, in types as well as at
 * run time, so they cannot disagree with the catalogue.
 */
export function route<const M extends MetaInput, const D extends RouteDef>(meta: M, def: D): Route<M, D> {
  const metadata: RouteMeta = { ...meta, errors: meta.errors ?? [] };
  const responses: Record<number, AppRouteResponse> = { ...def.responses };
  for (const code of codesOf(metadata, def)) responses[errorCatalogue[code].status] ??= errorEnvelope;
  return {
    ...def,
    responses,
    metadata,
    strictStatusCodes: true,
    summary: meta.summary,
    ...(meta.description === undefined ? {} : { description: meta.description }),
  } as unknown as Route<M, D>;
}

/** Every code that a route can answer, without repeats: its own and the derived ones. */
export function errorsOf(route: AppRoute): ErrorCode[] {
  return codesOf(metaOf(route), route);
}

/** The metadata of a route of ours. */
export function metaOf(route: AppRoute): RouteMeta {
  return route.metadata as RouteMeta;
}

/** True when the route takes a body that has to be parsed. */
export function takesBody(route: object): boolean {
  // c.noBody() is a symbol.
  return 'body' in route && typeof route.body === 'object' && route.body !== null;
}

function codesOf(meta: RouteMeta, def: { body?: unknown; query?: unknown }): ErrorCode[] {
  return [
    ...new Set<ErrorCode>([
      ...(takesBody(def) ? bodyErrors(meta) : []),
      ...(def.query ? QUERY_ERRORS : []),
      ...(meta.operation ? OPERATION_ERRORS : []),
      ...meta.errors,
      ...(meta.notFound ? [meta.notFound] : []),
      ...(meta.requiresVerifiedEmail ? (['EMAIL_NOT_VERIFIED'] as const) : []),
      ...ACCESS_ERRORS[meta.access],
      ...AUTH_ERRORS[meta.auth],
    ]),
  ];
}

function bodyErrors({ bodyCodes }: RouteMeta): readonly ErrorCode[] {
  if (!bodyCodes) return BODY_ERRORS;
  const { missing, invalid, malformed = 'INVALID_JSON' } = bodyCodes;
  return [missing, invalid, malformed, 'BAD_REQUEST', 'REQUEST_TIMEOUT', 'PAYLOAD_TOO_LARGE'];
}
