/** Waits that can be aborted. */

/** The longest delay of a timer, 24 days; with a longer one it fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, TIMER_MAX_MS));
  });
  return orAborted(over, signal).finally(() => clearTimeout(timer));
}

/** The result of the promise; rejects with the signal's reason when it aborts first. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
  });
}

export interface Leash {
  signal: AbortSignal;
  /** True when the time ran out, which is not the caller's abort. */
  timedOut(): boolean;
  /** Restarts the timer; null stops it, so that only the caller's signal can abort. */
  rearm(ms: number | null): void;
  /** Removes the timer and the listener on the caller's signal. */
  release(): void;
  /** Fires the signal, which ends everything that listens to it. */
  cut(): void;
}

/**
 * A signal that fires when the caller's does or when time runs out. Built by hand: AbortSignal.any over
 * AbortSignal.timeout leaks in long-lived callers and was collected before it fired in some releases.
 */
export function createLeash(ms: number | null, caller: AbortSignal | undefined): Leash {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let late = false;
  const follow = () => controller.abort(caller?.reason);
  const rearm = (nextMs: number | null) => {
    clearTimeout(timer);
    if (nextMs === null) return;
    timer = setTimeout(
      () => {
        late = true;
        controller.abort();
      },
      Math.min(nextMs, TIMER_MAX_MS),
    );
  };
  if (caller?.aborted) follow();
  else caller?.addEventListener('abort', follow);
  rearm(ms);
  const release = () => {
    clearTimeout(timer);
    caller?.removeEventListener('abort', follow);
  };
  return {
    signal: controller.signal,
    timedOut: () => late,
    rearm,
    release,
    cut: () => {
      release();
      controller.abort();
    },
  };
}
