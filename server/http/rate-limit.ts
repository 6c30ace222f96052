import { apiError } from '@posthorn/contract/api-error.ts';
import type { RateSlot } from '@posthorn/core/limits/take-rate-slots.ts';
import type { Call } from './call.ts';

/**
 * Sets the rate headers of the answer (LIM-1, LIM-2) and throws 429 RATE_LIMITED if no slot was left.
 * X-RateLimit-Reset is in Unix seconds, Retry-After in seconds from now.
 */
export function applyRateSlot(call: Call, slot: RateSlot): void {
  const headers = call.answerHeaders;
  headers['x-ratelimit-limit'] = String(slot.limit);
  headers['x-ratelimit-remaining'] = String(slot.remaining);
  headers['x-ratelimit-reset'] = String(slot.resetAtS);
  if (slot.allowed) return;
  headers['retry-after'] = String(slot.retryAfterS);
  throw apiError('RATE_LIMITED');
}
