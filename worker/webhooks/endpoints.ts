import type { ClaimedDelivery, Quota } from './claim-deliveries.ts';
import type { EndpointConfig } from './endpoint-config.ts';
import { allowedHeld, type EndpointControl, newEndpointControl } from './endpoint-control.ts';

/** A claimed delivery while this process holds it; times are monotonic. */
export interface HeldDelivery extends ClaimedDelivery {
  /** Begun later, its attempt might outlast the lease, and another worker would make it too. */
  beginUntilMs: number;
  leasedUntilMs: number;
  /** The id under which it was claimed; null: by time alone. */
  claimedBy: number | null;
}

/** What this process knows of an endpoint and holds for it. */
export interface Endpoint {
  webhookId: number;
  companyId: number;
  control: EndpointControl;
  config: EndpointConfig | null;
  /** When it was last heard that its webhook or company has changed, monotonic. */
  changedAtMs: number;
  /** First attempts may be waiting in the database. */
  moreFresh: boolean;
  /** How many to ask for: grows while claims come back full, so that a trickle does not book a torrent's share. */
  freshExpected: number;
  /**
   * Where claims look from, by id: what stood before is claimed. A queue leaves dead rows at its front until a
   * vacuum comes by, and walking them would cost each claim of a busy endpoint more and more. The scan sets it
   * back to 0 each second, for what was committed late, released, or lost by another worker.
   */
  freshFromId: number;
  /** Retries are due, as far as is known, from this time on (ms of the clock); null: none known. */
  retryAtMs: number | null;
  inFlight: number;
  /** Claimed and waiting here for a slot. */
  fresh: HeldDelivery[];
  retries: HeldDelivery[];
  retriesInFlight: number;
  /** Room given away to deliveries that are being written. */
  reserved: number;
  /** Writes under way of events for whose deliveries it gave no room. */
  passedOver: number;
  /** First attempts were released since a claim last asked for it: they stand before those that are written now. */
  hasReleased: boolean;
  /** Settles when what was claimed is put here, while its configuration is being read for that. */
  holding: Promise<void> | null;
  /** First attempts begun since the last retry. */
  freshInRow: number;
  /** When it was found to have work, monotonic; a claim that brought nothing is no activity. */
  activeAtMs: number;
  /** When a claim last asked for it, monotonic. */
  askedAtMs: number;
}

/** Deliveries given to one company before it is the next one's turn. */
const TURN = 16;
/**
 * Turns of one company in one claim while others are active too: what a claim brings is work that the next
 * event of theirs waits for.
 */
const TURNS_MAX = 2;
/** What a company gets at most of a claim while others are active. */
export const FULL_SHARE = TURN * TURNS_MAX;
/** Who had work so lately likely has it again. */
export const ACTIVE_MS = 2_000;
const EXPECTED_MIN = 4;
const EXPECTED_MAX = 256;

/** Ids are given out in another order than their transactions commit in, by about this much. */
export const ID_MARGIN = 200;

/** Learns from what a claim brought where the next one looks, how much it asks for and whether to ask at all. */
export function learnFromClaim(endpoint: Endpoint, asked: Quota, claimed: readonly ClaimedDelivery[]): void {
  const fresh = claimed.filter((delivery) => delivery.attempts === 0);
  const retries = claimed.length - fresh.length;
  if (asked.fresh > 0) {
    // A full claim: there is more. A short one emptied the queue.
    const isFull = fresh.length >= asked.fresh;
    if (isFull) endpoint.moreFresh = true;
    endpoint.freshExpected = isFull
      ? Math.min(endpoint.freshExpected * 4, EXPECTED_MAX)
      : Math.max(fresh.length * 2, EXPECTED_MIN);
    const last = fresh.at(-1);
    if (last) endpoint.freshFromId = Math.max(0, last.id - ID_MARGIN);
  }
  if (asked.retries > 0 && retries >= asked.retries) endpoint.retryAtMs = 0;
  if (claimed.length > 0) endpoint.activeAtMs = performance.now();
}

/** What a company could take of a claim now. */
type DesiredByCompany = Map<number, Desired[]>;

export function createEndpoints() {
  const all = new Map<number, Endpoint>();
  const byCompany = new Map<number, Set<Endpoint>>();
  let firstTurn = 0;
  let shared = false;

  function get(webhookId: number, companyId: number): Endpoint {
    let endpoint = all.get(webhookId);
    if (!endpoint) {
      endpoint = newEndpoint(webhookId, companyId);
      all.set(webhookId, endpoint);
      const siblings = byCompany.get(companyId) ?? new Set();
      byCompany.set(companyId, siblings.add(endpoint));
    }
    return endpoint;
  }

  function forget(endpoint: Endpoint): void {
    const siblings = byCompany.get(endpoint.companyId)!;
    siblings.delete(endpoint);
    if (siblings.size === 0) byCompany.delete(endpoint.companyId);
    all.delete(endpoint.webhookId);
  }

  /** Who may have something of a claim now; companies in `except` get nothing. Notes whether several are active. */
  function desiredOfAll(
    now: { clockMs: number; monotonicMs: number },
    except: ReadonlySet<number>,
  ): DesiredByCompany {
    const companies: DesiredByCompany = new Map();
    const active = new Set<number>();
    for (const endpoint of all.values()) {
      if (endpoint.activeAtMs > now.monotonicMs - ACTIVE_MS) active.add(endpoint.companyId);
      if (except.has(endpoint.companyId)) continue;
      const desired = desiredOf(endpoint, now);
      if (!desired) continue;
      const list = companies.get(endpoint.companyId);
      if (list) list.push(desired);
      else companies.set(endpoint.companyId, [desired]);
    }
    shared = active.size > 1;
    return companies;
  }

  /**
   * Shares `budget` out among the endpoints that have work and room: companies take turns of a few
   * deliveries each, so one with a thousand endpoints or a long backlog gets no more than the others.
   * Retries get at most half of an endpoint's room, so first attempts always find some, and `budget.retries`
   * over all. Companies in `except` get nothing.
   */
  function quotas(
    budget: { all: number; retries: number },
    now: { clockMs: number; monotonicMs: number },
    except: ReadonlySet<number>,
  ): Quota[] {
    let queue = [...desiredOfAll(now, except).values()];
    if (queue.length > 1) {
      firstTurn = (firstTurn + 1) % queue.length;
      queue = [...queue.slice(firstTurn), ...queue.slice(0, firstTurn)];
    }
    const granted = shareOut(queue, budget, shared ? TURNS_MAX : Number.POSITIVE_INFINITY);
    for (const quota of granted) quota.fromId = all.get(quota.webhookId)!.freshFromId;
    return granted;
  }

  /** Forgets endpoints that have been idle for a minute; what they taught is learnt again. */
  function forgetIdle(now: { monotonicMs: number }): void {
    for (const endpoint of all.values()) if (isIdle(endpoint, now.monotonicMs)) forget(endpoint);
  }

  return {
    all,
    get,
    ofCompany: (companyId: number): Iterable<Endpoint> => byCompany.get(companyId) ?? [],
    quotas,
    forgetIdle,
    /** More than one company had work lately. */
    areShared: () => shared,
  };
}

function newEndpoint(webhookId: number, companyId: number): Endpoint {
  return {
    webhookId,
    companyId,
    control: newEndpointControl(),
    config: null,
    changedAtMs: Number.NEGATIVE_INFINITY,
    moreFresh: false,
    freshExpected: EXPECTED_MIN,
    freshFromId: 0,
    retryAtMs: null,
    inFlight: 0,
    fresh: [],
    retries: [],
    retriesInFlight: 0,
    reserved: 0,
    passedOver: 0,
    hasReleased: false,
    holding: null,
    freshInRow: 0,
    activeAtMs: performance.now(),
    askedAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** Companies, each with what its endpoints desire, take up to `turns` turns in this order. */
function shareOut(companies: Desired[][], budget: { all: number; retries: number }, turns: number): Quota[] {
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

interface Desired {
  webhookId: number;
  fresh: number;
  retries: number;
}

function isIdle(endpoint: Endpoint, monotonicMs: number): boolean {
  const { moreFresh, retryAtMs, passedOver, holding, activeAtMs, askedAtMs, control } = endpoint;
  if (heldOf(endpoint) + passedOver > 0 || holding !== null || moreFresh || retryAtMs !== null) return false;
  return Math.max(activeAtMs, askedAtMs) < monotonicMs - 60_000 && control.openUntilMs < monotonicMs;
}

/** Room that is taken. */
export function heldOf(endpoint: Endpoint): number {
  return endpoint.inFlight + endpoint.fresh.length + endpoint.retries.length + endpoint.reserved;
}

/** What an endpoint could take now; null when it has no work or no room worth a claim. */
export function desiredOf(endpoint: Endpoint, now: { clockMs: number; monotonicMs: number }): Desired | null {
  const retriesDue = endpoint.retryAtMs !== null && endpoint.retryAtMs <= now.clockMs;
  if (!endpoint.moreFresh && !retriesDue) return null;
  const allowed = allowedHeld(endpoint.control, now.monotonicMs);
  const held = heldOf(endpoint);
  const room = allowed - held;
  // A claim for each slot that falls free would be a query a delivery: wait for a handful of them.
  if (room < 1 || (held > 0 && room < allowed / 4)) return null;
  const retriesRoom = Math.ceil(allowed / 2) - endpoint.retriesInFlight - endpoint.retries.length;
  const retries = retriesDue ? Math.max(0, Math.min(room, retriesRoom)) : 0;
  const fresh = endpoint.moreFresh ? Math.min(room, endpoint.freshExpected) : 0;
  return fresh + retries > 0 ? { webhookId: endpoint.webhookId, fresh, retries } : null;
}

/** Gives one company up to `turn` deliveries from the front of what it desires; served ones leave the list. */
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
    // What is over the retries of this claim comes with the next.
    if (retriesOfAll.left === 0) first.retries = retries;
    const quota = granted.get(first.webhookId);
    if (quota) {
      quota.fresh += fresh;
      quota.retries += retries;
    } else if (fresh + retries > 0)
      granted.set(first.webhookId, { webhookId: first.webhookId, fresh, retries, fromId: 0 });
    first.fresh -= fresh;
    first.retries -= retries;
    left -= fresh + retries;
    if (first.fresh + first.retries === 0) desired.shift();
  }
  return turn - left;
}
