import { apiError } from '@posthorn/contract/api-error.ts';

/**
 * Something that all companies of this process use together and that can run out: memory for media, room in
 * the spool. Who would exceed it is told to come again rather than let in: a process that is out of memory
 * loses everybody's requests.
 *
 * A company may hold half of what the others leave free: a third of all when it is alone, a fifth each when
 * three do, and so on. So whatever some hold, there is room for the next one, and it never takes a setting of
 * how many companies there will be.
 */
export interface SharedBudget {
  /**
   * Takes `amount` for a company until the returned function is called. Throws ApiError 503 with Retry-After
   * when there is none left, for everybody or for this company.
   */
  take(companyId: number, amount: number): () => void;
  used(): number;
}

const RETRY_AFTER_S = 2;
/** Of what is free once it has been taken, the part that one company may hold. */
const SHARE = 1 / 2;

export function createSharedBudget(limit: number): SharedBudget {
  let used = 0;
  const byCompany = new Map<number, number>();

  function admits(companyId: number, amount: number): boolean {
    // Alone, everything is let in: a limit below one request would refuse it for ever.
    if (used === 0) return true;
    if (used + amount > limit) return false;
    const held = byCompany.get(companyId) ?? 0;
    // The first of a company has a place as long as there is one.
    return held === 0 || held + amount <= SHARE * (limit - used - amount);
  }

  return {
    take(companyId, amount) {
      if (amount <= 0) return () => undefined;
      if (!admits(companyId, amount))
        throw apiError('SERVICE_UNAVAILABLE', {
          message: 'too much media is being received at the moment, try again later',
          headers: { 'retry-after': String(RETRY_AFTER_S) },
        });
      used += amount;
      byCompany.set(companyId, (byCompany.get(companyId) ?? 0) + amount);
      let released = false;
      return () => {
        if (released) return;
        released = true;
        used -= amount;
        const left = byCompany.get(companyId)! - amount;
        if (left > 0) byCompany.set(companyId, left);
        else byCompany.delete(companyId);
      };
    },
    used: () => used,
  };
}
