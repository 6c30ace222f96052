import { apiError } from '@posthorn/contract/api-error.ts';

/**
 * What everything that holds media may have in memory together, in this process. Who would exceed it is
 * told to come again rather than let in: a process that is out of memory loses everybody's requests.
 */
export interface MemoryBudget {
  /** Takes `bytes` until the returned function is called. Throws ApiError 503 with Retry-After. */
  take(bytes: number): () => void;
  usedBytes(): number;
}

const RETRY_AFTER_S = 2;

export function createMemoryBudget(limitBytes: number): MemoryBudget {
  let used = 0;
  return {
    take(bytes) {
      // Alone, everything is let in: a limit below one request would refuse it for ever.
      if (used > 0 && used + bytes > limitBytes) {
        throw apiError('SERVICE_UNAVAILABLE', {
          message: 'too much media is being received at the moment, try again later',
          headers: { 'retry-after': String(RETRY_AFTER_S) },
        });
      }
      used += bytes;
      let released = false;
      return () => {
        if (released) return;
        released = true;
        used -= bytes;
      };
    },
    usedBytes: () => used,
  };
}
