import type { ErrorCode } from './contract-types.ts';

/** Codes that the client itself gives, when no answer of the service says more. */
export type ClientErrorCode =
  /** No connection, or it broke before the answer was whole. */
  | 'NETWORK'
  /** No whole answer within `timeoutMs`, or within what `deadlineMs` left. */
  | 'TIMEOUT'
  /** A success whose body is not what it should be: something other than the service answered. */
  | 'BAD_RESPONSE'
  /** Redirects are not followed: they would carry the key to another address. */
  | 'UNEXPECTED_REDIRECT'
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

/** Every call that did not succeed, whoever was at fault. */
export class PosthornError extends Error {
  /** The service's `error_code`, or one of {@link ClientErrorCode}. */
  readonly code: ErrorCode | ClientErrorCode | (string & {});
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** For support: names the request in the service's log. */
  readonly traceId: string | null;
  /** Further fields of the error, e.g. `threshold` of BLOCKED_NO_RECIPROCITY. */
  readonly fields: Record<string, unknown>;
  /** How long the service asks to wait before the next try. */
  readonly retryAfterMs: number | null;

  constructor(details: PosthornErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'PosthornError';
    this.code = details.code;
    this.status = details.status;
    this.traceId = details.traceId ?? null;
    this.fields = details.fields ?? {};
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

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
 * The error of an answer that is not a success: the service's envelope where there is one,
 * otherwise what the status says, since proxies answer with pages of their own.
 */
export function errorOfAnswer(status: number, headers: Headers, text: string): PosthornError {
  const { error_code, message, trace_id, error, ...fields } = jsonObjectOf(text) ?? {};
  const said = [message, error].find((part) => typeof part === 'string' && part !== '') as string | undefined;
  return new PosthornError({
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
  const value = headers.get('retry-after')?.trim() ?? '';
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
