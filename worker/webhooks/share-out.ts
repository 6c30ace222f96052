import type { Quota } from './claim-deliveries.ts';

/** Deliveries given to one company before the next one's turn. */
const TURN = 16;
/**
 * Turns of one company in a claim while others are active too: their next event waits for the work that this
 * claim brings.
 */
export const TURNS_MAX = 2;
/** A company's maximum share of a claim while others are active. */
export const FULL_SHARE = TURN * TURNS_MAX;
/** How much an endpoint could take of a claim now. */
export interface Desired {
  webhookId: number;
  fresh: number;
  retries: number;
  /** As in its claim. */
  ahead: number;
}

/** Gives companies up to `turns` turns, in this order, by the demand of their endpoints. */
export function shareOut(
  companies: Desired[][],
  budget: { all: number; retries: number },
  turns: number,
): Quota[] {
  const granted = new Map<number, Quota>();
  const retries = { left: budget.retries };
  let queue = companies;
  let left = budget.all;
  for (let turn = 0; turn < turns && left > 0 && queue.length > 0; turn += 1) {
    const again: Desired[][] = [];
    for (const desired of queue) {
      if (left <= 0) break;
      left -= takeTurn(desired, Math.min(TURN, left), retries, granted);
      if (desired.length > 0) again.push(desired);
    }
    queue = again;
  }
  return [...granted.values()];
}

/**
 * Gives one company up to `turn` deliveries from the front of its demand; served endpoints leave the list.
 */
function takeTurn(
  desired: Desired[],
  turn: number,
  retriesOfAll: { left: number },
  granted: Map<number, Quota>,
): number {
  let left = turn;
  while (left > 0 && desired.length > 0) {
    const first = desired[0]!;
    const fresh = Math.min(first.fresh, left);
    const retries = Math.min(first.retries, left - fresh, retriesOfAll.left);
    retriesOfAll.left -= retries;
    // Retries beyond this claim's limit come with the next one.
    if (retriesOfAll.left === 0) first.retries = retries;
    const quota = granted.get(first.webhookId);
    if (quota) {
      quota.fresh += fresh;
      quota.retries += retries;
    } else if (fresh + retries > 0)
      granted.set(first.webhookId, {
        webhookId: first.webhookId,
        fresh,
        retries,
        ahead: first.ahead,
        fromId: 0,
        aheadFromId: 0,
      });
    first.fresh -= fresh;
    first.retries -= retries;
    left -= fresh + retries;
    if (first.fresh + first.retries === 0) desired.shift();
  }
  return turn - left;
}
