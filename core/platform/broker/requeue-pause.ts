const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * The cooldown, in ms, of a message whose handler threw, before it returns to its queue. It grows while nothing
 * succeeds: a database outage must not turn every queue into a busy loop (and, on a quorum queue, into a log that
 * grows with each return).
 */
export interface RequeuePause {
  next(): number;
  reset(): void;
}

export function createRequeuePause(): RequeuePause {
  let pauseMs = FIRST_PAUSE_MS;
  return {
    next() {
      const current = pauseMs;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      return current;
    },
    reset() {
      pauseMs = FIRST_PAUSE_MS;
    },
  };
}
