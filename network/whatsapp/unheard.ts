/**
 * Errors of the library that nobody hears. It runs listeners, timers and promises of its own, and where one of them
 * fails, Node.js would end the process with the sessions of all its instances. Each session therefore runs as itself:
 * whatever fails unheard, however it was started, is told to the session that it belongs to.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Told of an error that nobody heard; `event` is that whose listener failed, null for timers and promises. */
export type OnUnheard = (err: unknown, event: string | symbol | null) => void;

const responsible = new AsyncLocalStorage<OnUnheard | undefined>();

/** Runs it, and all that it starts, in the name of a session. */
export function runAs<T>(onUnheard: OnUnheard, work: () => T): T {
  listenOnce();
  return responsible.run(onUnheard, work);
}

/** Runs what belongs to no session, such as the owner's own code: its errors are no session's fault. */
export function runAsNobody<T>(work: () => T): T {
  return responsible.run(undefined, work);
}

/** Whom errors belong to here; undefined outside of sessions. */
export function currentlyResponsible(): OnUnheard | undefined {
  return responsible.getStore();
}

/** Calls it; what it throws or rejects with goes to `onError`. */
export function callHeard(work: () => unknown, onError: (err: unknown) => void): void {
  try {
    const done = work();
    if (done instanceof Promise) done.catch(onError);
  } catch (err) {
    onError(err);
  }
}

/** The same functions, each of which is run by `run`. */
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

/** The net below the guards of `library-surroundings.ts`. Errors of nobody end the process, as they do without it. */
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
  // Thrown here it would count as an error of this handler.
  setImmediate(() => {
    throw err;
  });
}
