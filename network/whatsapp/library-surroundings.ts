/**
 * Replaces the globals and `events` for the library: the same API, with each listener and timer guarded. An
 * unexpected stanza then fails as an error of its session (`unheard.ts`), and no listener prevents the others
 * from getting the event.
 */
import { EventEmitter } from 'node:events';
import { callHeard, currentlyResponsible } from './unheard.ts';

export { once } from 'node:events';

type Work = (...told: unknown[]) => unknown;

class GuardedEmitter extends EventEmitter {
  readonly #onUnheard = currentlyResponsible();

  override emit(event: string | symbol, ...told: unknown[]): boolean {
    const onUnheard = this.#onUnheard;
    if (!onUnheard) return super.emit(event, ...told);
    // The library tells each frame under some twenty names, most of which nobody listens to.
    if (this.listenerCount(event) === 0) return false;
    const listeners = this.rawListeners(event);
    for (const listen of listeners)
      callHeard(
        () => listen.apply(this, told),
        (err) => onUnheard(err, event),
      );
    return true;
  }
}

export { GuardedEmitter as default, GuardedEmitter as EventEmitter };

export const setTimeout = (work: Work, delayMs?: number, ...told: unknown[]): NodeJS.Timeout =>
  globalThis.setTimeout(guarded(work), delayMs, ...told);

export const setInterval = (work: Work, delayMs?: number, ...told: unknown[]): NodeJS.Timeout =>
  globalThis.setInterval(guarded(work), delayMs, ...told);

export const setImmediate = (work: Work, ...told: unknown[]): NodeJS.Immediate =>
  globalThis.setImmediate(guarded(work), ...told);

/**
 * Reads the whole answer, which the library holds in memory anyway. The library pipes a body without
 * listening for its errors: a server that breaks off would end the process, and the file's reader would wait
 * forever.
 */
export async function fetch(...request: Parameters<typeof globalThis.fetch>): Promise<Response> {
  const response = await globalThis.fetch(...request);
  return new Response(await response.arrayBuffer(), response);
}

function guarded(work: Work): Work {
  const onUnheard = currentlyResponsible();
  if (!onUnheard) return work;
  return (...told) =>
    callHeard(
      () => work(...told),
      (err) => onUnheard(err, null),
    );
}
