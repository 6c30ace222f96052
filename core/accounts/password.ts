import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { apiError } from '@posthorn/contract/api-error.ts';

/**
 * argon2id on worker threads, never on the event loop, and only so many at a time: each costs some 9 ms of
 * a core and 19 MiB, so an unbounded burst of logins would starve everything else.
 */
export interface PasswordHasher {
  hashPassword(password: string): Promise<string>;
  /**
   * False without a `hash` too (unknown account, or one without a password), after the same work:
   * the time it takes tells no account from another.
   */
  verifyPassword(hash: string | null, password: string): Promise<boolean>;
}

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Throws SERVICE_UNAVAILABLE (with Retry-After) when `waitingMax` are waiting already. */
export function createPasswordHasher(
  options: { parallel?: number; waitingMax?: number } = {},
): PasswordHasher {
  const parallel = options.parallel ?? Math.max(1, Math.floor(availableParallelism() / 2));
  const waitingMax = options.waitingMax ?? 256;
  const waiting: (() => void)[] = [];
  let running = 0;

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= parallel) {
      if (waiting.length >= waitingMax)
        throw apiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '2' } });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      // The place is handed over rather than freed, so that nobody overtakes who waits.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  }

  const nobodys = hash(randomBytes(32), COST);
  nobodys.catch(() => undefined);
  return {
    hashPassword: (password) => inTurn(() => hash(password, COST)),
    verifyPassword: (stored, password) =>
      inTurn(async () => {
        const against = stored ?? (await nobodys);
        return (await verify(against, password)) && stored !== null;
      }),
  };
}
