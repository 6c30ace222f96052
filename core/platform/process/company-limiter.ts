import { createLimiter, type Limiter } from './limiter.ts';

/**
 * Lets a few pieces of work run at a time, of each company and in all. Companies have turns: however much work of one waits, the
 * others wait for no more of it than runs at a time.
 */
export interface CompanyLimiter {
  run<T>(companyId: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createCompanyLimiter(limits: { each: number; all: number }): CompanyLimiter {
  const all = createLimiter(limits.all);
  /** A limiter for each company that has something running or waiting: only what it lets through waits with that of others. */
  const held = new Map<number, { limiter: Limiter; users: number }>();
  return {
    async run(companyId, work, signal) {
      const own = held.get(companyId) ?? { limiter: createLimiter(limits.each), users: 0 };
      held.set(companyId, own);
      own.users += 1;
      try {
        return await own.limiter.run(() => all.run(work, signal), signal);
      } finally {
        own.users -= 1;
        if (own.users === 0) held.delete(companyId);
      }
    },
  };
}
