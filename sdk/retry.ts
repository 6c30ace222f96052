import { PosthornError } from './error.ts';

const BASE_MS = 250;
const CAP_MS = 8_000;
const RETRIED_STATUSES: readonly number[] = [408, 425, 429, 500, 503, 504];
const RETRIED_CODES: readonly string[] = ['NETWORK', 'TIMEOUT', 'BAD_GATEWAY'];

/** True when the same request may succeed later, whether or not repeating it is safe. */
export function isTransient(error: unknown): error is PosthornError {
  if (!(error instanceof PosthornError)) return false;
  const { code, status } = error;
  // A 502 with a code of the service (MEDIA_FETCH_FAILED, SEND_FAILED) is its answer, not a proxy's.
  return status === 0 || status === 502 ? RETRIED_CODES.includes(code) : RETRIED_STATUSES.includes(status);
}

/**
 * True when the service says that it did nothing and when to retry, so that any request may be sent again. A 503 says
 * only when to retry, since the database may have stalled after the change was made.
 */
export function isRefusedForNow(error: PosthornError): boolean {
  return error.status === 429 && error.retryAfterMs !== null;
}

/** True when the request may have been done all the same. */
export function isOutcomeUnknown(error: PosthornError): boolean {
  return error.status === 0 || error.status >= 500;
}

/**
 * How long to wait before retry number `retry` (from 0): at least as long as the service asks for. The wait doubles
 * each time and is random in its upper half, so that clients that failed together do not retry together.
 */
export function retryDelayMs(retry: number, error: PosthornError | null, random = Math.random): number {
  const ceiling = Math.min(CAP_MS, BASE_MS * 2 ** retry);
  const backoff = ceiling * (0.5 + random() / 2);
  return Math.max(error?.retryAfterMs ?? 0, backoff);
}
