/**
 * Replaces the globals and `events` for the library: the same API, with each listener and timer guarded. An
 * unexpected stanza then fails as an error of its session (`unheard.ts`), and no listener prevents the others
 * from getting the event.
 */
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
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

const TRIES = 4;
const PAUSE_MS = 1_000;
/** Answers and errors that another try may not get. */
const BUSY: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const FINAL: ReadonlySet<unknown> = new Set([
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  'UND_ERR_DESTROYED',
  undefined,
]);

/**
 * Reads the whole answer, which the library holds in memory anyway. The library pipes a body without
 * listening for its errors: a server that breaks off would end the process, and the file's reader would wait
 * forever. It also tries once, and a phone gives its history once: media servers fail now and then.
 */
export async function fetch(...request: Parameters<typeof globalThis.fetch>): Promise<Response> {
  // The body of an upload can be read once.
  const tries = request[1]?.body ? 1 : TRIES;
  for (let nth = 1; ; nth += 1) {
    try {
      const response = await globalThis.fetch(...request);
      const body = await response.arrayBuffer();
      if (nth === tries || !BUSY.has(response.status)) return new Response(body, response);
    } catch (err) {
      if (nth === tries || FINAL.has(codeOf(err))) throw err;
    }
    await delay(nth * PAUSE_MS, undefined, { ref: false });
  }
}

/** Undefined for errors that are not of the connection, such as an address that may not be fetched from. */
function codeOf(err: unknown): unknown {
  return (err as { cause?: { code?: unknown } }).cause?.code;
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
