import type { Bus, BusChannel } from './bus.ts';

/** Waits of requests for something that another process writes and then notifies of. */
export interface NotificationWaits {
  /** Resolves at the next notification with this payload, after `ms` at the latest, or when `signal` fires. */
  next(payload: string, ms: number, signal: AbortSignal): Promise<void>;
}

/** One listener on the bus a process, however many requests wait. */
export function createNotificationWaits(bus: Bus, channel: BusChannel): NotificationWaits {
  const waiting = new Map<string, Set<() => void>>();
  bus.on(channel, (payload) => {
    for (const wake of waiting.get(payload) ?? []) wake();
  });
  return {
    next(payload, ms, signal) {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wakes = waiting.get(payload) ?? new Set();
        waiting.set(payload, wakes);
        const timer = setTimeout(wake, ms);
        function wake() {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          wakes.delete(wake);
          if (wakes.size === 0 && waiting.get(payload) === wakes) waiting.delete(payload);
          resolve();
        }
        wakes.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    },
  };
}

/** Notifications may be lost with the connection: who waits also looks this often. */
const LOOK_EVERY_MS = 500;

/** Looks until `look` finds something; null when nothing was there after `timeoutMs`. */
export async function waitUntilFound<T>(
  waits: NotificationWaits,
  input: { payload: string; timeoutMs: number; signal: AbortSignal },
  look: () => Promise<T | null>,
): Promise<T | null> {
  const until = performance.now() + input.timeoutMs;
  for (;;) {
    // Asked for before looking: what comes in between is not slept through.
    const leftMs = until - performance.now();
    const notified = waits.next(input.payload, Math.max(0, Math.min(leftMs, LOOK_EVERY_MS)), input.signal);
    const found = await look();
    if (found !== null || leftMs <= 0 || input.signal.aborted) return found;
    await notified;
  }
}
