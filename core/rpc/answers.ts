import type { Bus } from '../platform/bus.ts';

/** Waits of requests for the answers of owners. */
export interface Answers {
  /** Resolves at the notification that the request is answered, after `ms` at the latest, or when `signal` fires. */
  next(requestId: string, ms: number, signal: AbortSignal): Promise<void>;
}

/** One listener on the bus a process, however many requests wait. */
export function createAnswers(bus: Bus): Answers {
  const waiting = new Map<string, () => void>();
  bus.on('answers', (requestId) => waiting.get(requestId)?.());
  return {
    next(requestId, ms, signal) {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(wake, ms);
        function wake() {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          waiting.delete(requestId);
          resolve();
        }
        waiting.set(requestId, wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    },
  };
}

/** Notifications may be lost with the connection: who waits also looks this often. */
const LOOK_EVERY_MS = 500;

/** Looks until there is an answer; null when there was none after `timeoutMs`. */
export async function waitForAnswer<T>(
  answers: Answers,
  input: { id: string; timeoutMs: number; signal: AbortSignal },
  look: () => Promise<T | null>,
): Promise<T | null> {
  const until = Date.now() + input.timeoutMs;
  for (;;) {
    // Asked for before looking: an answer that comes in between is not slept through.
    const leftMs = until - Date.now();
    const notified = answers.next(input.id, Math.max(0, Math.min(leftMs, LOOK_EVERY_MS)), input.signal);
    const found = await look();
    if (found !== null || leftMs <= 0 || input.signal.aborted) return found;
    await notified;
  }
}
