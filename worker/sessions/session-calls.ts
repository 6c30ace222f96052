import { SendUnavailable } from '@posthorn/core/network/driver.ts';

/** The time that a driver has after the end of its session to answer its open calls itself. */
const LAST_ANSWERS_MS = 1_000;

/**
 * Calls to a session, each of which is answered soon after the session has ended, whatever its driver does. A call that
 * is never answered would keep its instance from sending, and its shard from being released: no worker would own it.
 */
export interface SessionCalls {
  /** Rejects with {@link SendUnavailable} once the session has ended. */
  ask<T>(call: () => Promise<T>): Promise<T>;
  /** The session has ended. */
  end(): void;
}

export function createSessionCalls(): SessionCalls {
  const waiting = new Set<(err: Error) => void>();
  let hasEnded = false;
  return {
    ask<T>(call: () => Promise<T>): Promise<T> {
      if (hasEnded) return Promise.reject(new SendUnavailable('the session has ended'));
      return new Promise((resolve, reject) => {
        waiting.add(reject);
        call()
          .then(resolve, reject)
          .finally(() => waiting.delete(reject));
      });
    },
    end() {
      if (hasEnded) return;
      hasEnded = true;
      const giveUp = () => {
        for (const reject of waiting) reject(new SendUnavailable('the session ended without an answer'));
      };
      if (waiting.size > 0) setTimeout(giveUp, LAST_ANSWERS_MS);
    },
  };
}
