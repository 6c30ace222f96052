import { apiError } from '@posthorn/contract/api-error.ts';

/**
 * A resource that all companies of this process share and that can run out: memory for media, room in the spool.
 * Requests that would exceed it are told to come again: a process that is out of memory loses everybody's requests.
 *
 * A company may hold a quarter of what is free, after a quarter of the total was set aside for companies that hold
 * nothing yet: 15 % of the total when it is alone, less the more others hold. So many greedy companies leave room
 * for each other, the last quarter goes to one request each, and no setting has to know how many companies there
 * will be.
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
/** A company's maximum share of the remaining budget. */
const SHARE = 1 / 4;
/** The share of the whole budget that is reserved for the first request of a company. */
const FOR_FIRSTS = 1 / 4;

export function createSharedBudget(limit: number): SharedBudget {
  let used = 0;
  const byCompany = new Map<number, number>();

  function admits(companyId: number, amount: number): boolean {
    // Alone, everything is let in: a limit below one request would refuse it forever.
    if (used === 0) return true;
    if (used + amount > limit) return false;
    const held = byCompany.get(companyId) ?? 0;
    // The first request of a company is let in as long as there is any room.
    return held === 0 || held + amount <= SHARE * ((1 - FOR_FIRSTS) * limit - used - amount);
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
        const left = (byCompany.get(companyId) ?? 0) - amount;
        if (left > 0) byCompany.set(companyId, left);
        else byCompany.delete(companyId);
      };
    },
    used: () => used,
  };
}
