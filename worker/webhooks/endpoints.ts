import type { ClaimedDelivery, Quota } from '@posthorn/core/webhooks/delivery/claim-deliveries.ts';
import type { EndpointConfig } from '@posthorn/core/webhooks/delivery/endpoint-config.ts';
import {
  allowedHeld,
  type EndpointControl,
  newEndpointControl,
} from '@posthorn/core/webhooks/delivery/endpoint-control.ts';

/** What this process knows of an endpoint and holds for it. */
export interface Endpoint {
  webhookId: number;
  companyId: number;
  control: EndpointControl;
  config: EndpointConfig | null;
  /** First attempts may be waiting in the database. */
  moreFresh: boolean;
  /** How many to ask for: grows while claims come back full, so that a trickle does not book a torrent's share. */
  freshExpected: number;
  /** Retries are due, as far as is known, from this time on (ms of the clock); null: none known. */
  retryAtMs: number | null;
  inFlight: number;
  /** Claimed and waiting here for a slot. */
  fresh: ClaimedDelivery[];
  retries: ClaimedDelivery[];
  retriesInFlight: number;
  /** Monotonic. */
  activeAtMs: number;
}

/** Deliveries given to one company before it is the next one's turn. */
const TURN = 16;
/** Turns of one company in one claim while others want something too: theirs come with the next claim. */
const TURNS_MAX = 3;
const EXPECTED_MIN = 4;
const EXPECTED_MAX = 256;

/** Retries in one claim, over all: a replay of thousands must not fill the claims of live traffic. */
const RETRIES_MAX = 32;

/** Learns from what a claim brought how many first attempts to ask for next time. */
export function expectFresh(endpoint: Endpoint, claim: { asked: number; got: number }): void {
  const full = claim.got >= claim.asked;
  endpoint.freshExpected = full
    ? Math.min(endpoint.freshExpected * 4, EXPECTED_MAX)
    : Math.max(claim.got * 2, EXPECTED_MIN);
}

export function createEndpoints() {
  const all = new Map<number, Endpoint>();
  let firstTurn = 0;

  function get(webhookId: number, companyId: number): Endpoint {
    let endpoint = all.get(webhookId);
    if (!endpoint) {
      endpoint = {
        webhookId,
        companyId,
        control: newEndpointControl(),
        config: null,
        moreFresh: false,
        freshExpected: EXPECTED_MIN,
        retryAtMs: null,
        inFlight: 0,
        fresh: [],
        retries: [],
        retriesInFlight: 0,
        activeAtMs: performance.now(),
      };
      all.set(webhookId, endpoint);
    }
    return endpoint;
  }

  /**
   * Shares `budget` out among the endpoints that have work and room: companies take turns of a few
   * deliveries each, so one with a thousand endpoints or a long backlog gets no more than the others.
   * Retries get at most half of an endpoint's room, so first attempts always find some.
   */
  function quotas(budget: number, now: { clockMs: number; monotonicMs: number }): Quota[] {
    const companies = new Map<number, Wish[]>();
    for (const endpoint of all.values()) {
      const wish = wishOf(endpoint, now);
      if (!wish) continue;
      const wishes = companies.get(endpoint.companyId);
      if (wishes) wishes.push(wish);
      else companies.set(endpoint.companyId, [wish]);
    }
    let queue = [...companies.values()];
    if (queue.length > 1) {
      firstTurn = (firstTurn + 1) % queue.length;
      queue = [...queue.slice(firstTurn), ...queue.slice(0, firstTurn)];
    }
    const granted = new Map<number, Quota>();
    let left = budget;
    const retries = { left: RETRIES_MAX };
    let turns = queue.length > 1 ? TURNS_MAX : Number.POSITIVE_INFINITY;
    while (left > 0 && queue.length > 0 && turns > 0) {
      turns -= 1;
      const again: Wish[][] = [];
      for (const wishes of queue) {
        if (left <= 0) break;
        left -= takeTurn(wishes, Math.min(TURN, left), retries, granted);
        if (wishes.length > 0) again.push(wishes);
      }
      queue = again;
    }
    return [...granted.values()];
  }

  /** Forgets endpoints that have been idle for a minute; what they taught is learnt again. */
  function forgetIdle(now: { monotonicMs: number }): void {
    for (const [id, endpoint] of all) {
      const busy = endpoint.inFlight + endpoint.fresh.length + endpoint.retries.length > 0;
      if (busy || endpoint.moreFresh || endpoint.retryAtMs !== null) continue;
      if (endpoint.activeAtMs < now.monotonicMs - 60_000 && endpoint.control.openUntilMs < now.monotonicMs)
        all.delete(id);
    }
  }

  return { all, get, quotas, forgetIdle };
}

export interface Wish {
  webhookId: number;
  fresh: number;
  retries: number;
}

/** What an endpoint could take now; null when it has no work or no room worth a claim. */
export function wishOf(endpoint: Endpoint, now: { clockMs: number; monotonicMs: number }): Wish | null {
  const retriesDue = endpoint.retryAtMs !== null && endpoint.retryAtMs <= now.clockMs;
  if (!endpoint.moreFresh && !retriesDue) return null;
  const allowed = allowedHeld(endpoint.control, now.monotonicMs);
  const held = endpoint.inFlight + endpoint.fresh.length + endpoint.retries.length;
  const room = allowed - held;
  // A claim for each slot that falls free would be a query a delivery: wait for a handful of them.
  if (room < 1 || (held > 0 && room < allowed / 4)) return null;
  const retriesRoom = Math.ceil(allowed / 2) - endpoint.retriesInFlight - endpoint.retries.length;
  const retries = retriesDue ? Math.max(0, Math.min(room, retriesRoom)) : 0;
  const fresh = endpoint.moreFresh ? Math.min(room, endpoint.freshExpected) : 0;
  return fresh + retries > 0 ? { webhookId: endpoint.webhookId, fresh, retries } : null;
}

/** Gives one company up to `turn` deliveries from the front of its wishes; served ones leave the list. */
function takeTurn(
  wishes: Wish[],
  turn: number,
  retriesOfAll: { left: number },
  granted: Map<number, Quota>,
): number {
  let left = turn;
  while (left > 0 && wishes.length > 0) {
    const wish = wishes[0]!;
    const fresh = Math.min(wish.fresh, left);
    const retries = Math.min(wish.retries, left - fresh, retriesOfAll.left);
    retriesOfAll.left -= retries;
    // What is over the retries of this claim comes with the next.
    if (retriesOfAll.left === 0) wish.retries = retries;
    const quota = granted.get(wish.webhookId);
    if (quota) {
      quota.fresh += fresh;
      quota.retries += retries;
    } else if (fresh + retries > 0)
      granted.set(wish.webhookId, { webhookId: wish.webhookId, fresh, retries });
    wish.fresh -= fresh;
    wish.retries -= retries;
    left -= fresh + retries;
    if (wish.fresh + wish.retries === 0) wishes.shift();
  }
  return turn - left;
}
