/**
 * What the library gets in place of the globals and of `events`: the same, with each listener and each timer guarded. A
 * stanza that one of them does not expect then fails in the name of its session (`unheard.ts`), and no listener keeps
 * the others from hearing the event.
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
    const listeners = this.rawListeners(event);
    for (const listen of listeners)
      callHeard(
        () => listen.apply(this, told),
        (err) => onUnheard(err, event),
      );
    return listeners.length > 0;
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
 * Reads the whole answer, which the library keeps whole anyway. It pipes a body without listening for its errors: a
 * server that breaks off would end the process, and what waits for the file would wait for ever.
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
