import { type ErrorCode, type ErrorStatus, errorCatalogue } from './errors.ts';

/** The answer's Retry-After when the thrower of a 503 gives none. */
const RETRY_AFTER = { 'retry-after': '5' };

export interface ApiErrorOptions {
  /** Public text in place of the catalogue's default. Never an internal cause. */
  message?: string;
  /** Extra top-level fields of the envelope, as the guard codes carry: `remote_jid`, `count` and the like. */
  fields?: Record<string, unknown>;
  /** Response headers, e.g. `{ 'retry-after': '30' }`, which a 503 has in any case. */
  headers?: Record<string, string>;
  /** The real cause, for the log only. */
  cause?: unknown;
  /** One of the code's `alsoStatuses`, when that is the one meant. */
  status?: ErrorStatus;
}

/**
 * An error with a public face. The one mapper of the server turns it into the envelope `{error_code, message,
 * trace_id, error}`.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: ErrorStatus;
  readonly publicMessage: string;
  readonly fields: Record<string, unknown> | undefined;
  readonly headers: Record<string, string> | undefined;

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const message = options.message ?? errorCatalogue[code].message;
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? errorCatalogue[code].status;
    this.publicMessage = message;
    this.fields = options.fields;
    this.headers = this.status === 503 ? { ...RETRY_AFTER, ...options.headers } : options.headers;
  }
}

/** `throw apiError('MESSAGE_NOT_FOUND')`. */
export function apiError(code: ErrorCode, options?: ApiErrorOptions): ApiError {
  return new ApiError(code, options);
}
