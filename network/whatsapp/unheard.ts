/**
 * Handles errors that the library leaves unhandled. It runs its own listeners, timers and promises, and a
 * failure in one of them would make Node.js end the process with the sessions of all its instances. Each
 * session therefore runs in its own context: any unhandled error is reported to the session it belongs to.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Called with an unhandled error; `event` is the event whose listener failed, null for timers and promises.
 */
export type OnUnheard = (err: unknown, event: string | symbol | null) => void;

const responsible = new AsyncLocalStorage<OnUnheard | undefined>();

/** Runs `work`, and everything it starts, in the context of a session. */
export function runAs<T>(onUnheard: OnUnheard, work: () => T): T {
  listenOnce();
  return responsible.run(onUnheard, work);
}

/** Runs `work` outside any session, e.g. the owner's own code, whose errors are not the session's fault. */
export function runAsNobody<T>(work: () => T): T {
  return responsible.run(undefined, work);
}

/** The handler of errors in the current context; undefined outside of sessions. */
export function currentlyResponsible(): OnUnheard | undefined {
  return responsible.getStore();
}

/** Calls `work`; passes its exception or rejection to `onError`. */
export function callHeard(work: () => unknown, onError: (err: unknown) => void): void {
  try {
    const done = work();
    if (done instanceof Promise) done.catch(onError);
  } catch (err) {
    onError(err);
  }
}

/** The same object, with each method call run by `run`. */
export function wrapCalls<T extends object>(of: T, run: <R>(work: () => R) => R): T {
  return new Proxy(of, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      return typeof found === 'function'
        ? (...given: unknown[]) => run(() => found.apply(target, given) as unknown)
        : found;
    },
  });
}

/**
 * Catches errors that the guards of `library-surroundings.ts` missed. Errors outside of sessions end the
 * process, as without this handler.
 */
function listenOnce(): void {
  if (process.listeners('uncaughtException').includes(onException)) return;
  process.on('uncaughtException', onException);
  process.on('unhandledRejection', onRejection);
}

function onRejection(reason: unknown): void {
  const onUnheard = responsible.getStore();
  if (!onUnheard) throw reason;
  onUnheard(reason, null);
}

function onException(err: unknown): void {
  const onUnheard = responsible.getStore();
  if (onUnheard) {
    onUnheard(err, null);
    return;
  }
  if (process.listenerCount('uncaughtException') > 1) return;
  process.off('uncaughtException', onException);
  process.off('unhandledRejection', onRejection);
  // Thrown here, it would count as an error of this handler.
  setImmediate(() => {
    throw err;
  });
}
