import { HARD_FAIL_ATTEMPTS } from '@posthorn/contract/limits.ts';
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';

/** Waits before attempts 2 to 8 (WHK-8). */
export const RETRY_DELAYS_MS = [5_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, 21_600_000] as const;
const JITTER = 0.2;
/** The longest wait a receiver may request. */
const RETRY_AFTER_MAX_MS = DAY_MS;

/** Classes that further attempts won't change: the receiver understood and refused (WHK-10). */
export const HARD_FAIL_CLASSES: readonly ErrorClass[] = ['permanent_4xx', 'payload_rejected'];

/** The class of an answer; the empty string is success (WHK-9). */
export function classOfStatus(status: number): ErrorClass {
  if (status >= 200 && status < 300) return '';
  if (status < 400) return 'redirect';
  if (status >= 500) return 'server_5xx';
  switch (status) {
    case 408:
      return 'timeout';
    case 409:
    case 425:
      return 'retryable_4xx';
    case 429:
      return 'rate_limited';
    case 413:
    case 415:
    case 422:
      return 'payload_rejected';
    default:
      return 'permanent_4xx';
  }
}

/** Whether an attempt of this class and number is the last one (WHK-10). */
export function isHardFailed(errorClass: ErrorClass, attempt: number): boolean {
  return attempt >= HARD_FAIL_ATTEMPTS && HARD_FAIL_CLASSES.includes(errorClass);
}

/**
 * When to try again after attempt number `attempt` (from 1) failed: milliseconds from its end, or null
 * when it was the last. `random` is in [0, 1).
 */
export function retryDelayMs(failed: {
  attempt: number;
  errorClass: ErrorClass;
  statusCode: number | null;
  retryAfterMs: number | null;
  random: number;
}): number | null {
  if (failed.statusCode === 410 || isHardFailed(failed.errorClass, failed.attempt)) return null;
  const delay = RETRY_DELAYS_MS[failed.attempt - 1];
  if (delay === undefined) return null;
  const jittered = delay * (1 - JITTER + 2 * JITTER * failed.random);
  return Math.round(Math.max(jittered, Math.min(failed.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS)));
}

/** Parses `Retry-After` in seconds or as an HTTP date; null for anything else. */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
