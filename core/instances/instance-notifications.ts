import type { Bus } from '../platform/bus.ts';

/** Waits of requests for something that the worker of an instance writes. */
export interface InstanceNotifications {
  /** Resolves at the next notification about the instance, after `ms` at the latest, or when `signal` fires. */
  next(instanceId: string, ms: number, signal: AbortSignal): Promise<void>;
}

/** One listener on the bus a process, however many requests wait. */
export function createInstanceNotifications(bus: Bus): InstanceNotifications {
  const waiting = new Map<string, Set<() => void>>();
  bus.on('instance', (instanceId) => {
    for (const wake of waiting.get(instanceId) ?? []) wake();
  });
  return {
    next(instanceId, ms, signal) {
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wakes = waiting.get(instanceId) ?? new Set();
        waiting.set(instanceId, wakes);
        const timer = setTimeout(wake, ms);
        function wake() {
          clearTimeout(timer);
          signal.removeEventListener('abort', wake);
          wakes.delete(wake);
          if (wakes.size === 0 && waiting.get(instanceId) === wakes) waiting.delete(instanceId);
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
export async function waitForInstance<T>(
  notifications: InstanceNotifications,
  input: { instanceId: string; timeoutMs: number; signal: AbortSignal },
  look: () => Promise<T | null>,
): Promise<T | null> {
  const until = Date.now() + input.timeoutMs;
  for (;;) {
    const found = await look();
    const leftMs = until - Date.now();
    if (found !== null || leftMs <= 0 || input.signal.aborted) return found;
    await notifications.next(input.instanceId, Math.min(leftMs, LOOK_EVERY_MS), input.signal);
  }
}
