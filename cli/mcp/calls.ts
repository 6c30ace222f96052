import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';

/** How long calls may go on when the client sends nothing more. Then a send answers that it was called off, with its key. */
const GRACE_MS = 10_000;
/** How long a call that was called off may take to say so. */
const CALLED_OFF_MS = 1_000;

/** The calls under way. */
export interface Calls {
  /** Runs a call, whose signal fires when the client cancels it or the server ends. */
  run<T>(cancelled: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Resolves when all calls are answered. It calls them off when `signal` fires, and after 10 s. */
  end(signal: AbortSignal): Promise<void>;
}

export function createCalls(): Calls {
  const running = new Map<Promise<unknown>, AbortController>();
  let isOver = false;
  const settled = () => Promise.allSettled(running.keys());
  return {
    async run(cancelled, call) {
      const controller = new AbortController();
      cancelled.addEventListener('abort', () => controller.abort());
      if (isOver || cancelled.aborted) controller.abort();
      const answer = call(controller.signal).finally(() => running.delete(answer));
      running.set(answer, controller);
      return answer;
    },
    async end(signal) {
      // Requests that came with the end of the input begin only now.
      await nextTurn();
      await Promise.race([settled(), delay(GRACE_MS, undefined, { signal }).catch(() => undefined)]);
      isOver = true;
      for (const controller of running.values()) controller.abort();
      await Promise.race([settled(), delay(CALLED_OFF_MS)]);
      // The library writes an answer after the call has returned it.
      await nextTurn();
    },
  };
}
