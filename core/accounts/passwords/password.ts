import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { apiError } from '@posthorn/contract/api-error.ts';
import { createFairQueue, type PasswordAsker } from './password-queue.ts';
import type { PasswordJob, PasswordResult } from './password-worker.ts';

/**
 * argon2id on threads of low priority, never on the event loop, and a bounded number concurrently: each costs some
 * 9 ms of a core and 19 MiB, so an unbounded burst of logins would starve everything else.
 */
export interface PasswordHasher {
  hashPassword(password: string, asker?: PasswordAsker): Promise<string>;
  /**
   * Also false without a `hash` (unknown account, or one without a password), after the same work, so that timing
   * does not tell which accounts exist.
   */
  verifyPassword(hash: string | null, password: string, asker?: PasswordAsker): Promise<boolean>;
}

interface Waiting {
  job: PasswordJob;
  resolve(result: PasswordResult): void;
  reject(err: Error): void;
}

/** The assumed cost of one hash until some have been measured. */
const FIRST_GUESS_MS = 10;

/** The default: the process itself. */
const OURSELVES: PasswordAsker = { key: 'process', isTrusted: true };

/**
 * Threads start when they are first needed and do not keep the process alive. As many jobs may wait as finish
 * within `waitMaxMs`, since a login that comes too late helps nobody; further ones get 503 SERVICE_UNAVAILABLE with
 * Retry-After. password-queue.ts decides the order.
 */
export function createPasswordHasher(
  options: { parallel?: number; waitMaxMs?: number } = {},
): PasswordHasher {
  const parallel = options.parallel ?? Math.max(1, Math.floor(availableParallelism() / 2));
  const waitMaxMs = options.waitMaxMs ?? 3_000;
  const waiting = createFairQueue<Waiting>({
    capacity: () => (waitMaxMs / costMs) * parallel,
    lost: ({ reject }) => reject(tooMany()),
  });
  const idle: Worker[] = [];
  let threads = 0;
  let costMs = FIRST_GUESS_MS;

  function run(job: PasswordJob, asker: PasswordAsker): Promise<PasswordResult> {
    return new Promise((resolve, reject) => {
      if (!waiting.push({ job, resolve, reject }, asker)) {
        reject(tooMany());
        return;
      }
      const thread = idle.pop() ?? (threads < parallel ? startThread() : undefined);
      if (thread) takeNext(thread);
    });
  }

  function startThread(): Worker {
    threads++;
    const thread = new Worker(new URL('./password-worker.ts', import.meta.url));
    thread.once('exit', () => {
      threads--;
      const at = idle.indexOf(thread);
      if (at >= 0) idle.splice(at, 1);
    });
    return thread;
  }

  function takeNext(thread: Worker): void {
    const next = waiting.next();
    if (!next) {
      thread.unref();
      idle.push(thread);
      return;
    }
    const startedAt = performance.now();
    const settle = () => {
      thread.off('message', done);
      thread.off('error', failed);
    };
    const done = (result: PasswordResult) => {
      settle();
      costMs += (performance.now() - startedAt - costMs) / 10;
      next.resolve(result);
      takeNext(thread);
    };
    const failed = (err: Error) => {
      settle();
      next.reject(err);
      // This thread has ended; the waiting jobs get another.
      if (waiting.size() > 0) takeNext(startThread());
    };
    thread.ref();
    thread.on('message', done);
    thread.on('error', failed);
    thread.postMessage(next.job);
  }

  return {
    async hashPassword(password, asker = OURSELVES) {
      const result = await run({ password }, asker);
      if (!('hash' in result)) throw new Error('a password could not be hashed', { cause: result });
      return result.hash;
    },
    async verifyPassword(stored, password, asker = OURSELVES) {
      const result = await run({ password, stored }, asker);
      if (!('right' in result)) throw new Error('a password could not be verified', { cause: result });
      return result.right;
    },
  };
}

function tooMany() {
  return apiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '2' } });
}
