import { PosthornError } from '@posthorn/sdk/index.ts';

/** Why requests fail for the moment: the service limits them, it is not ready, or it does not answer. */
export type Trouble = 'limited' | 'unavailable' | 'unreachable';

export interface Connection {
  /** The fetch for the SDK, which retries by itself without reporting it. */
  fetch: typeof globalThis.fetch;
  /** Null while the service answers. */
  trouble(): Trouble | null;
  /** Checks whether the service answers, after a page could not be fetched from it. */
  look(): void;
  onChange(listener: () => void): () => void;
}

/** Pause between two checks whether the service is back, while no page sends requests. */
const LOOK_EVERY_MS = 4_000;

/** Watches the answers to all requests, so that each page can say why it waits. The next answer ends the trouble. */
export function createConnection(baseUrl: string): Connection {
  const listeners = new Set<() => void>();
  let trouble: Trouble | null = null;
  let looking: ReturnType<typeof setTimeout> | undefined;

  function become(next: Trouble | null, retryAfterS = 0): void {
    clearTimeout(looking);
    if (next === 'limited') looking = setTimeout(() => become(null), 1_000 * retryAfterS || LOOK_EVERY_MS);
    else if (next) looking = setTimeout(look, LOOK_EVERY_MS);
    if (next === trouble) return;
    trouble = next;
    for (const listener of listeners) listener();
  }

  async function ask(...[input, init]: Parameters<typeof globalThis.fetch>): Promise<Response> {
    try {
      const answer = await globalThis.fetch(input, init);
      become(await troubleOf(answer), Number(answer.headers.get('retry-after')));
      return answer;
    } catch (error) {
      if (!init?.signal?.aborted) become('unreachable');
      throw error;
    }
  }

  function look(): void {
    ask(`${baseUrl}/ready`, { cache: 'no-store' }).catch(() => undefined);
  }

  return {
    fetch: ask,
    look,
    trouble: () => trouble,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const TROUBLES: Readonly<Record<number, Trouble>> = {
  429: 'limited',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};
/** Codes of the service that speak of itself. Others of these statuses speak of an address, a provider or one budget. */
const OF_SERVICE: readonly unknown[] = ['RATE_LIMITED', 'SERVICE_UNAVAILABLE'];

async function troubleOf(answer: Response): Promise<Trouble | null> {
  const trouble = TROUBLES[answer.status];
  if (!trouble) return null;
  const code = await codeOf(answer.clone());
  return code === undefined || OF_SERVICE.includes(code) ? trouble : null;
}

/** Undefined where something in front of the service has answered. */
async function codeOf(answer: Response): Promise<unknown> {
  try {
    return ((await answer.json()) as { error_code?: unknown }).error_code;
  } catch {
    return undefined;
  }
}

const PASSING_STATUSES: readonly number[] = [408, 425, 429, 500, 502, 503, 504];
const PASSING_CODES: readonly string[] = ['NETWORK', 'TIMEOUT'];

/** Whether the same request may succeed later. */
export function isPassing(error: unknown): error is PosthornError {
  if (!(error instanceof PosthornError)) return false;
  return PASSING_CODES.includes(error.code) || PASSING_STATUSES.includes(error.status);
}

const ASK_AGAIN_AFTER_MS = 4_000;

/** The wait before asking again, with jitter so that not all tabs ask at once. */
export function askAgainAfterMs(error: unknown): number {
  const asked = error instanceof PosthornError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(asked, ASK_AGAIN_AFTER_MS) * (1 + Math.random() / 4);
}
