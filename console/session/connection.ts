import { PosthornError } from '@posthorn/sdk/index.ts';

/** Why nothing goes on for the moment: the service takes no more requests, it is not ready, or nobody answers. */
export type Trouble = 'limited' | 'unavailable' | 'unreachable';

export interface Connection {
  /** For the SDK, which tries again by itself and says nothing meanwhile. */
  fetch: typeof globalThis.fetch;
  /** Null while the service answers. */
  trouble(): Trouble | null;
  /** Asks whether the service is there, for a page that could not be fetched from it. */
  look(): void;
  onChange(listener: () => void): () => void;
}

/** Between two looks at whether the service is back, while no page asks it for anything. */
const LOOK_EVERY_MS = 4_000;

/** Watches the answers to all requests, so that each page can say why it waits. The next answer ends a trouble. */
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
      become(troubleOf(answer.status), Number(answer.headers.get('retry-after')));
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

function troubleOf(status: number): Trouble | null {
  if (status === 429) return 'limited';
  return [502, 503, 504].includes(status) ? 'unavailable' : null;
}

const PASSING_STATUSES: readonly number[] = [408, 425, 429, 500, 502, 503, 504];
const PASSING_CODES: readonly string[] = ['NETWORK', 'TIMEOUT'];

/** Whether the same question may be answered later. */
export function isPassing(error: unknown): error is PosthornError {
  if (!(error instanceof PosthornError)) return false;
  return PASSING_CODES.includes(error.code) || PASSING_STATUSES.includes(error.status);
}

const ASK_AGAIN_AFTER_MS = 4_000;

/** When to ask again; not all tabs in the same moment. */
export function askAgainAfterMs(error: unknown): number {
  const asked = error instanceof PosthornError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(asked, ASK_AGAIN_AFTER_MS) * (1 + Math.random() / 4);
}
