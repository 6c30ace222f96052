import { attemptsAhead, type CatchUp, newCatchUp, noteClaim, windowLeft } from './catch-up.ts';
import type { ClaimedDelivery, Quota } from './claim-deliveries.ts';
import type { EndpointConfig } from './endpoint-config.ts';
import { allowedHeld, type EndpointControl, newEndpointControl } from './endpoint-control.ts';
import { type Desired, shareOut, TURNS_MAX } from './share-out.ts';

/** A claimed delivery while this process holds it; times are monotonic. */
export interface HeldDelivery extends ClaimedDelivery {
  /** If begun later, its attempt might outlast the lease, and another worker would make it too. */
  beginUntilMs: number;
  leasedUntilMs: number;
  /** The worker id under which it was claimed; null: by time alone. */
  claimedBy: number | null;
}

/** This process's state of an endpoint and the deliveries it holds for it. */
export interface Endpoint {
  webhookId: number;
  companyId: number;
  control: EndpointControl;
  catchUp: CatchUp;
  config: EndpointConfig | null;
  /** When a change of its webhook or company was last reported, monotonic. */
  changedAtMs: number;
  /** First attempts may be waiting in the database. */
  moreFresh: boolean;
  /**
   * How many to request: grows while claims return full, so that a trickle does not reserve a torrent's
   * share.
   */
  freshExpected: number;
  /**
   * Claims start at this id: everything before it is claimed. A queue leaves dead rows at its front until a
   * vacuum, and reading them would cost each claim of a busy endpoint more and more. The scan resets it to 0
   * each second, for rows committed late, released, or lost by another worker.
   */
  freshFromId: number;
  /** The same for its retries while it catches up: they are claimed in order of their ids. */
  aheadFromId: number;
  /** Due time of the earliest known retry (ms of the clock); null: none known. */
  retryAtMs: number | null;
  inFlight: number;
  /** Claimed and waiting here for a slot. */
  fresh: HeldDelivery[];
  retries: HeldDelivery[];
  retriesInFlight: number;
  /** Room reserved for deliveries being written. */
  reserved: number;
  /** Writes in progress of events for which this endpoint reserved no room. */
  passedOver: number;
  /** First attempts were released since the last claim for it: they precede those being written now. */
  hasReleased: boolean;
  /** Settles when claimed deliveries are added here, while the configuration is being read for them. */
  holding: Promise<void> | null;
  /** First attempts begun since the last retry. */
  freshInRow: number;
  /** When it last had work, monotonic; a claim without a result is not activity. */
  activeAtMs: number;
  /** When a claim last included it, monotonic. */
  askedAtMs: number;
}

/** A company with work this recently probably has more. */
export const ACTIVE_MS = 2_000;
const EXPECTED_MIN = 4;
const EXPECTED_MAX = 256;

/** Transactions commit out of id order by about this many ids. */
export const ID_MARGIN = 200;

/**
 * Learns from a claim's result where the next one starts, how much it requests and whether to claim at all.
 */
export function learnFromClaim(endpoint: Endpoint, asked: Quota, claimed: readonly ClaimedDelivery[]): void {
  const fresh = claimed.filter((delivery) => delivery.attempts === 0);
  const late = claimed.filter((delivery) => delivery.attempts > 0);
  if (asked.fresh > 0) {
    // A full claim means there is more. A short one emptied the queue.
    const isFull = fresh.length >= asked.fresh;
    if (isFull) endpoint.moreFresh = true;
    endpoint.freshExpected = isFull
      ? Math.min(endpoint.freshExpected * 4, EXPECTED_MAX)
      : Math.max(fresh.length * 2, EXPECTED_MIN);
    const last = fresh.at(-1);
    if (last) endpoint.freshFromId = Math.max(0, last.id - ID_MARGIN);
  }
  if (asked.retries > 0 && late.length >= asked.retries) endpoint.retryAtMs = 0;
  learnFromAhead(endpoint, asked, late);
  if (claimed.length > 0) endpoint.activeAtMs = performance.now();
}

function learnFromAhead(endpoint: Endpoint, asked: Quota, retries: readonly ClaimedDelivery[]): void {
  const isFull = retries.length >= asked.retries;
  endpoint.aheadFromId = asked.ahead > 0 && isFull ? (retries.at(-1)?.id ?? 0) : 0;
  // A short claim says that nothing is left only if it began at the front.
  if (isFull || asked.aheadFromId === 0)
    noteClaim(endpoint.catchUp, asked, retries.length, performance.now());
}

/** How much each company could take of a claim now. */
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

  /** Companies that may get part of a claim now, without `except`. Notes whether several are active. */
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
   * Shares `budget` among endpoints with work and room: companies take turns of a few deliveries each, so one
   * with a thousand endpoints or a long backlog gets no more than the others. Retries get at most half of an
   * endpoint's room, so first attempts always find some, and at most `budget.retries` in all.
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
    for (const quota of granted) Object.assign(quota, startsOf(all.get(quota.webhookId)!));
    return granted;
  }

  /** Forgets endpoints that have been idle for a minute; their state is learnt again. */
  function forgetIdle(now: { monotonicMs: number }): void {
    for (const endpoint of all.values()) if (isIdle(endpoint, now.monotonicMs)) forget(endpoint);
  }

  return {
    all,
    get,
    ofCompany: (companyId: number): Iterable<Endpoint> => byCompany.get(companyId) ?? [],
    quotas,
    forgetIdle,
    /** Whether more than one company had work recently. */
    areShared: () => shared,
  };
}

function newEndpoint(webhookId: number, companyId: number): Endpoint {
  return {
    webhookId,
    companyId,
    control: newEndpointControl(),
    catchUp: newCatchUp(),
    config: null,
    changedAtMs: Number.NEGATIVE_INFINITY,
    moreFresh: false,
    freshExpected: EXPECTED_MIN,
    freshFromId: 0,
    aheadFromId: 0,
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

function startsOf({ freshFromId, aheadFromId }: Endpoint): Pick<Quota, 'fromId' | 'aheadFromId'> {
  return { fromId: freshFromId, aheadFromId };
}

function isIdle(endpoint: Endpoint, monotonicMs: number): boolean {
  const { moreFresh, retryAtMs, passedOver, holding, activeAtMs, askedAtMs, control } = endpoint;
  if (heldOf(endpoint) + passedOver > 0 || holding !== null || moreFresh || retryAtMs !== null) return false;
  return Math.max(activeAtMs, askedAtMs) < monotonicMs - 60_000 && control.openUntilMs < monotonicMs;
}

/** Room in use. */
export function heldOf(endpoint: Endpoint): number {
  return endpoint.inFlight + endpoint.fresh.length + endpoint.retries.length + endpoint.reserved;
}

/** How much an endpoint could take now; null if it has no work or not enough room for a claim. */
export function desiredOf(endpoint: Endpoint, now: { clockMs: number; monotonicMs: number }): Desired | null {
  const retriesDue = endpoint.retryAtMs !== null && endpoint.retryAtMs <= now.clockMs;
  const ahead = attemptsAhead(endpoint.catchUp, now.monotonicMs);
  if (!endpoint.moreFresh && !retriesDue && ahead === 0) return null;
  const allowed = allowedHeld(endpoint.control, now.monotonicMs);
  const held = heldOf(endpoint);
  const room = allowed - held;
  // A claim for each freed slot would be a query per delivery: wait for a handful of them.
  if (room < 1 || (held > 0 && room < allowed / 4)) return null;
  const retriesHeld = endpoint.retriesInFlight + endpoint.retries.length;
  const retriesRoom = Math.min(room, Math.ceil(allowed / 2) - retriesHeld);
  const wanted = ahead > 0 ? windowLeft(endpoint.catchUp, retriesHeld) : retriesDue ? retriesRoom : 0;
  const retries = Math.max(0, Math.min(retriesRoom, wanted));
  const fresh = endpoint.moreFresh ? Math.min(room, endpoint.freshExpected) : 0;
  return fresh + retries > 0 ? { webhookId: endpoint.webhookId, fresh, retries, ahead } : null;
}
