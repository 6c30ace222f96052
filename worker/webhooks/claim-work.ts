import { setTimeout as delay } from 'node:timers/promises';
import { type ClaimedDelivery, claimDeliveries, discardDeliveries, type Quota } from './claim-deliveries.ts';
import * as claiming from './claim-state.ts';
import {
  type DispatcherContext,
  endpointOf,
  isAlive,
  isStillOurs,
  newLease,
  release,
  workerId,
} from './dispatcher-context.ts';
import { readEndpointConfigs } from './endpoint-config.ts';
import { type HeldDelivery, learnFromClaim } from './endpoints.ts';

/**
 * Concurrent claims, each for different companies: the next company need not wait until a burst is claimed.
 */
const CLAIMS_MAX = 2;
const RECORD_BACKLOG_MAX = 4_000;
const CLAIM_RETRY_MS = 500;
/** Time reserved for writing the result. */
const LEASE_MARGIN_MS = 5_000;

/** Attempts that end in the same turn of the event loop cause one claim, not one each. */
export function wantClaim(context: DispatcherContext): void {
  if (context.isClaimDue) return;
  context.isClaimDue = true;
  setImmediate(() => {
    context.isClaimDue = false;
    while (context.claims.size < CLAIMS_MAX && !context.isStopping && startClaim(context));
  });
}

/**
 * Claims for the companies without a claim in progress; false if they need nothing or the budget is used up.
 */
function startClaim(context: DispatcherContext): boolean {
  const quotas = nextQuotas(context);
  if (quotas.length === 0) return false;
  const shares = claiming.sharesOf(quotas, (webhookId) => endpointOf(context, webhookId).companyId);
  context.state = claiming.onClaim(context.state, quotas, shares);
  const startedAtMs = performance.now();
  const claim = claimFor(context, quotas)
    .catch(async (err) => {
      context.deps.log.warn({ err }, 'claiming webhook deliveries failed, trying again');
      await delay(CLAIM_RETRY_MS);
    })
    .finally(() => {
      context.claims.delete(claim);
      const tookMs = performance.now() - startedAtMs;
      const areShared = context.endpoints.areShared();
      const after = claiming.afterClaim(context.state, { quotas, shares, tookMs, areShared });
      context.state = after.state;
      for (const company of after.cooling) coolDown(context, company, after.cooldownMs);
      wantClaim(context);
    });
  context.claims.add(claim);
  return true;
}

function coolDown(context: DispatcherContext, company: number, cooldownMs: number): void {
  setTimeout(() => {
    context.state = claiming.afterCooldown(context.state, company);
    wantClaim(context);
  }, cooldownMs).unref();
}

function nextQuotas(context: DispatcherContext): Quota[] {
  const { deps, endpoints } = context;
  const monotonicMs = performance.now();
  const budget = budgetNow(context, monotonicMs);
  const now = { clockMs: deps.clock.now().getTime(), monotonicMs };
  const quotas = budget ? endpoints.quotas(budget, now, context.state.asking) : [];
  context.state = claiming.afterSharing(context.state, budget, quotas);
  return quotas;
}

/** The maximum of a claim now; null: claim nothing. */
export function budgetNow(context: DispatcherContext, nowMs: number): ReturnType<typeof claiming.budgetOf> {
  const mayClaim = isAlive(context) && context.recorder.backlog() <= RECORD_BACKLOG_MAX;
  return mayClaim ? claiming.budgetOf(context.state, context.attempts.slow(), nowMs) : null;
}

async function claimFor(context: DispatcherContext, quotas: Quota[]): Promise<void> {
  const { deps, finder } = context;
  // Work found while the claim runs must not count as answered by it.
  for (const { webhookId, fresh, retries } of quotas) {
    const endpoint = endpointOf(context, webhookId);
    if (fresh > 0) {
      endpoint.moreFresh = false;
      endpoint.hasReleased = false;
    }
    if (retries > 0) endpoint.retryAtMs = null;
    // The endpoint must not be forgotten as idle meanwhile.
    endpoint.askedAtMs = performance.now();
  }
  const startedAtMs = performance.now();
  const claimed = (await claimPaced(context, quotas)).filter((delivery) => isStillOurs(context, delivery));
  for (const delivery of claimed) finder.sawId(delivery.id);
  for (const quota of quotas)
    learnFromClaim(
      endpointOf(context, quota.webhookId),
      quota,
      claimed.filter(({ webhookId }) => webhookId === quota.webhookId),
    );
  const lost = claimed.filter((delivery) => isLost(delivery));
  await hold(
    context,
    claimed.filter((delivery) => !isLost(delivery)),
    startedAtMs,
  );
  if (lost.length > 0)
    await discardDeliveries(
      deps.db,
      lost.map(({ id }) => id),
    );
}

async function claimPaced(context: DispatcherContext, quotas: Quota[]): Promise<HeldDelivery[]> {
  const startedAtMs = performance.now();
  let claimed: HeldDelivery[] | null = null;
  const { now, until } = newLease(context);
  context.lostLeases = context.lostLeases.filter((lost) => lost > now);
  try {
    const claimedBy = workerId(context);
    const found = await claimDeliveries(context.deps.db, {
      quotas,
      now,
      until,
      worker: claimedBy,
      lostLeases: context.lostLeases,
    });
    const lease = leaseFrom(context, startedAtMs, claimedBy);
    claimed = found.map((delivery) => Object.assign(delivery, lease));
    return claimed;
  } catch (err) {
    context.lostLeases.push(until);
    throw err;
  } finally {
    const at = { startedAtMs, nowMs: performance.now() };
    const after = claiming.afterAnswer(context.state, quotas, claimed, at);
    context.state = after.state;
    // Rounded up: a timer counts whole milliseconds and may fire up to one early, and nothing would ask again.
    if (after.cooldownMs > 0) setTimeout(() => wantClaim(context), Math.ceil(after.cooldownMs) + 1).unref();
  }
}

/** The lease of deliveries claimed at `startedAtMs`. */
export function leaseFrom(
  { leaseMs, timeoutMs }: DispatcherContext,
  startedAtMs: number,
  claimedBy: number | null,
): Pick<HeldDelivery, 'leasedUntilMs' | 'beginUntilMs' | 'claimedBy'> {
  const leasedUntilMs = startedAtMs + leaseMs;
  const beginUntilMs = leasedUntilMs - Math.min(timeoutMs + LEASE_MARGIN_MS, leaseMs / 2);
  return { leasedUntilMs, beginUntilMs, claimedBy };
}

/**
 * Adds claimed deliveries to their endpoints and reads changed configurations again. Deliveries of an
 * endpoint that changed since the claim began are released: the claim may have seen it enabled, and gets no
 * further notification. Later claims are added later, however long the reading takes.
 */
export async function hold(
  context: DispatcherContext,
  claimed: HeldDelivery[],
  startedAtMs: number,
): Promise<void> {
  context.state = claiming.afterHolding(context.state, claimed.length);
  const endpoints = new Set(claimed.map(({ webhookId }) => endpointOf(context, webhookId)));
  const earlier = [...endpoints].flatMap(({ holding }) => holding ?? []);
  if (earlier.length === 0 && staleOf(context, claimed).length === 0)
    return putToEndpoints(context, claimed, startedAtMs);
  const holding = Promise.allSettled(earlier)
    .then(() => readStale(context, claimed, startedAtMs))
    .then(() => putToEndpoints(context, claimed, startedAtMs))
    .finally(() => {
      for (const endpoint of endpoints) if (endpoint.holding === holding) endpoint.holding = null;
    });
  for (const endpoint of endpoints) endpoint.holding = holding;
  await holding;
}

/** Webhooks whose configuration differs from the one the claim saw. */
function staleOf(context: DispatcherContext, claimed: readonly HeldDelivery[]): number[] {
  const stale = new Set<number>();
  for (const { webhookId, webhookVersion } of claimed)
    if (endpointOf(context, webhookId).config?.version !== webhookVersion) stale.add(webhookId);
  return [...stale];
}

async function readStale(
  context: DispatcherContext,
  claimed: HeldDelivery[],
  startedAtMs: number,
): Promise<void> {
  const stale = staleOf(context, claimed);
  if (stale.length === 0) return;
  const configs = await readEndpointConfigs(context.deps, stale).catch((err) => {
    release(context, claimed);
    throw err;
  });
  for (const id of stale) {
    const endpoint = endpointOf(context, id);
    if (endpoint.changedAtMs < startedAtMs) endpoint.config = configs.get(id) ?? null;
  }
}

function putToEndpoints(context: DispatcherContext, claimed: HeldDelivery[], startedAtMs: number): void {
  const mayBegin = (delivery: HeldDelivery) =>
    endpointOf(context, delivery.webhookId).changedAtMs < startedAtMs && isStillOurs(context, delivery);
  const [here, over] = [claimed.filter(mayBegin), claimed.filter((delivery) => !mayBegin(delivery))];
  release(context, over);
  for (const delivery of here) {
    const endpoint = endpointOf(context, delivery.webhookId);
    (delivery.attempts === 0 ? endpoint.fresh : endpoint.retries).push(delivery);
    context.attempts.begin(endpoint);
  }
}

/** Its webhook is gone, or its event is past its retention: it can never be delivered. */
function isLost(delivery: ClaimedDelivery): boolean {
  return delivery.body === null || delivery.webhookVersion === null;
}
