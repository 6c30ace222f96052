import type { ErrorCode } from './contract-types.ts';

/** Codes of the client itself, for faults that no answer of the service names. */
export type ClientErrorCode =
  /** No connection, or it broke before the answer was whole. */
  | 'NETWORK'
  /** No whole answer within `timeoutMs`, or within what `deadlineMs` left. */
  | 'TIMEOUT'
  /** The caller aborted a send; its outcome may be unknown. */
  | 'ABORTED'
  /** The client could not get or renew its credentials before another attempt. */
  | 'NO_CREDENTIALS'
  /** A 2xx answer with an unexpected body: something other than the service answered. */
  | 'BAD_RESPONSE'
  /** Redirects are not followed: they would carry the key to another address. */
  | 'UNEXPECTED_REDIRECT'
  /** `messages.waitFor`: the message failed. */
  | 'MESSAGE_FAILED'
  | 'METHOD_NOT_ALLOWED'
  | 'REQUEST_TIMEOUT'
  | 'BAD_GATEWAY'
  | 'GATEWAY_TIMEOUT';

export interface PosthornErrorDetails {
  code: string;
  status: number;
  message: string;
  traceId?: string | null;
  fields?: Record<string, unknown>;
  retryAfterMs?: number | null;
  cause?: unknown;
}

/**
 * One symbol for all copies of this module: a program may load it as an ES module and as CommonJS, and an
 * error of the one must be an instance of the classes of the other.
 */
const BRAND = Symbol.for('posthorn.error.classes');

/** The error of every call that did not succeed, whoever was at fault. */
export class PosthornError extends Error {
  /** The name of the class in the brand. Minifiers rename classes, but not this. */
  static readonly brand: string = 'PosthornError';
  /** The service's `error_code`, or one of {@link ClientErrorCode}. */
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** For support: identifies the request in the service's log. */
  readonly traceId: string | null;
  /** Further fields of the error, e.g. `threshold` of BLOCKED_NO_RECIPROCITY. */
  readonly fields: Record<string, unknown>;
  /** How long the service asks to wait before the next try. */
  readonly retryAfterMs: number | null;
  /** The key of the send, given or made: repeating the call with it never sends twice. Null without one. */
  readonly idempotencyKey: string | null = null;
  /** Requests that were made for the call. */
  readonly attempts: number = 0;

  constructor(details: PosthornErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.brand;
    this.code = details.code;
    this.status = details.status;
    this.traceId = details.traceId ?? null;
    this.fields = details.fields ?? {};
    this.retryAfterMs = details.retryAfterMs ?? null;
    Object.defineProperty(this, BRAND, { value: brandsOf(new.target) });
  }
}

/** Every class below inherits it; `this` is the class on the right of `instanceof`. */
function hasBrand(this: typeof PosthornError, value: unknown): boolean {
  // A class that a program derives has no brand of its own: the prototype decides.
  if (!Object.hasOwn(this, 'brand')) return Function.prototype[Symbol.hasInstance].call(this, value);
  const brands = (value as { [BRAND]?: unknown } | null | undefined)?.[BRAND];
  return Array.isArray(brands) && brands.includes(this.brand);
}
Object.defineProperty(PosthornError, Symbol.hasInstance, { value: hasBrand });

function brandsOf(type: typeof PosthornError): string[] {
  const brands: string[] = [];
  for (let at = type; typeof at?.brand === 'string'; at = Object.getPrototypeOf(at)) brands.push(at.brand);
  return brands;
}

/** 400: the request is invalid. */
export class BadRequestError extends PosthornError {
  static override readonly brand: string = 'BadRequestError';
}
/** 401: the credentials are missing or no longer valid. */
export class AuthenticationError extends PosthornError {
  static override readonly brand: string = 'AuthenticationError';
}
/** 403: the credentials are valid, but do not allow this. */
export class PermissionError extends PosthornError {
  static override readonly brand: string = 'PermissionError';
}
/** 404: it does not exist, or belongs to somebody else. */
export class NotFoundError extends PosthornError {
  static override readonly brand: string = 'NotFoundError';
}
/** 409: the current state forbids it, e.g. the guard or passive mode. */
export class ConflictError extends PosthornError {
  static override readonly brand: string = 'ConflictError';
}
/** 413: larger than the service takes. */
export class PayloadTooLargeError extends PosthornError {
  static override readonly brand: string = 'PayloadTooLargeError';
}
/** 415: the service does not take media of this kind. */
export class UnsupportedMediaTypeError extends PosthornError {
  static override readonly brand: string = 'UnsupportedMediaTypeError';
}
/** 422: understood but refused, e.g. an idempotency key that was used with another body. */
export class UnprocessableError extends PosthornError {
  static override readonly brand: string = 'UnprocessableError';
}
/** 429: too many requests; `retryAfterMs` says how long to wait. */
export class RateLimitError extends PosthornError {
  static override readonly brand: string = 'RateLimitError';
}
/** 500 and above. */
export class ServerError extends PosthornError {
  static override readonly brand: string = 'ServerError';
}
/** 503: the service is not ready for the moment; `retryAfterMs` says how long to wait. */
export class UnavailableError extends ServerError {
  static override readonly brand: string = 'UnavailableError';
}
/** No answer: NETWORK, TIMEOUT and ABORTED. Whether the service did what was asked is unknown. */
export class ConnectionError extends PosthornError {
  static override readonly brand: string = 'ConnectionError';
}
/** TIMEOUT. */
export class TimeoutError extends ConnectionError {
  static override readonly brand: string = 'TimeoutError';
}
/** ABORTED: the caller aborted a send; the reason is the `cause`. */
export class AbortedError extends ConnectionError {
  static override readonly brand: string = 'AbortedError';
}
/** MESSAGE_FAILED: the message that `messages.waitFor` waited for has failed. */
export class MessageFailedError extends PosthornError {
  static override readonly brand: string = 'MessageFailedError';
}

const CLASS_OF_STATUS: Readonly<Record<number, typeof PosthornError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  409: ConflictError,
  413: PayloadTooLargeError,
  415: UnsupportedMediaTypeError,
  422: UnprocessableError,
  429: RateLimitError,
  503: UnavailableError,
};

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  422: 'UNPROCESSABLE_ENTITY',
  429: 'RATE_LIMITED',
  500: 'INTERNAL_ERROR',
  501: 'NOT_IMPLEMENTED',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
  504: 'GATEWAY_TIMEOUT',
};

/**
 * The error of an answer that is not a success: made from the service's envelope if there is one, otherwise from the
 * status, since proxies answer with pages of their own.
 */
export function errorOfAnswer(status: number, headers: Headers, text: string): PosthornError {
  const { error_code, message, trace_id, error, ...fields } = jsonObjectOf(text) ?? {};
  const said = [message, error].find((part) => typeof part === 'string' && part !== '') as string | undefined;
  const Class = CLASS_OF_STATUS[status] ?? (status >= 500 ? ServerError : PosthornError);
  return new Class({
    code: typeof error_code === 'string' ? error_code : codeOfStatus(status),
    status,
    message: said ?? `the answer was ${status} ${contentTypeOf(headers)}`.trim(),
    traceId: typeof trace_id === 'string' ? trace_id : headers.get('x-trace-id'),
    fields,
    retryAfterMs: retryAfterMsOf(headers),
  });
}

/** Retry-After as milliseconds from now, given in seconds or as a date; null without a valid one. */
export function retryAfterMsOf(headers: Headers, nowMs = Date.now()): number | null {
  const value = headers.get('retry-after') ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const at = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

function codeOfStatus(status: number): string {
  if (status >= 300 && status < 400) return 'UNEXPECTED_REDIRECT';
  return CODE_OF_STATUS[status] ?? `HTTP_${status}`;
}

function contentTypeOf(headers: Headers): string {
  const type = headers.get('content-type')?.split(';')[0]?.trim();
  return type && type !== 'application/json' ? `with ${type} instead of JSON` : '';
}

function jsonObjectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
