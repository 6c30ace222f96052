import { setTimeout as delay } from 'node:timers/promises';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import type { Outbound } from '@posthorn/core/platform/outbound-http.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  discardDeliveries,
  type Quota,
  releaseDeliveries,
} from '@posthorn/core/webhooks/delivery/claim-deliveries.ts';
import { readEndpointConfigs } from '@posthorn/core/webhooks/delivery/endpoint-config.ts';
import { changedCompany, changedWebhook, RETRIES_HINT } from '@posthorn/core/webhooks/delivery/hints.ts';
import { type AttemptResult, disableGoneWebhook } from '@posthorn/core/webhooks/delivery/record-attempts.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import { createAttemptRecorder } from './attempt-recorder.ts';
import { createAttempts } from './attempts.ts';
import {
  createEndpoints,
  type Endpoint,
  FULL_SHARE,
  type HeldDelivery,
  learnFromClaim,
  wishOf,
} from './endpoints.ts';
import { createWorkFinder } from './find-work.ts';

export interface WebhookDispatcherDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  cipher: Cipher;
  outbound: Outbound;
  /** Absent: its claims end by time alone. */
  pulse?: Pulse;
  /** In [0, 1); for the jitter of retries. */
  random?: () => number;
  /** For an attempt in all, body read included. Default 15 s (WHK-7). */
  timeoutMs?: number;
  /** Default 60 s; must outlast a wait for a slot and an attempt. */
  leaseMs?: number;
}

export interface WebhookDispatcher {
  start(): Promise<void>;
  /** Ends what is under way (5 s), gives back the rest, writes what is known. */
  stop(): Promise<void>;
  /** Attempts under way and deliveries held, for metrics. */
  load(): { inFlight: number; held: number; endpoints: number };
}

/** Deliveries held at once, those aside that a slow endpoint is sitting on. */
const HELD_MAX = 1024;
/**
 * All together: what bounds the memory and the sockets when hundreds of endpoints hang. The outbound connections
 * to one host must be as many, or endpoints that hang there keep those of others waiting for one.
 */
export const HELD_WITH_SLOW_MAX = 4096;
/** Small claims: the attempts of others wait while what came of one is begun. */
const CLAIM_MAX = 128;
/**
 * On their way at once, each for other companies: what a burst brings need not wait to be claimed before
 * the next company is asked for.
 */
const CLAIMS_MAX = 2;
/** Retries in one claim, over all endpoints. */
const RETRIES_MAX = 32;
/**
 * While first attempts are about, a claim of retries is followed by a rest from them of so many times as long
 * as it took: a replay of thousands takes a fraction of the machine, however fast that is.
 */
const RETRY_REST = 5;
/** The same for a company that took its full share while others were active: its burst leaves them air. */
const BURST_REST = 2;
const LIVE_MS = 1_000;
const STARVED_STEP = 64;
const RECORD_BACKLOG_MAX = 4_000;
const CLAIM_RETRY_MS = 500;
const STOP_MS = 5_000;
/** For the result to be written. */
const LEASE_MARGIN_MS = 5_000;

/**
 * Makes the due deliveries of `webhook_deliveries` (WHK-13). Any number of processes may run one.
 *
 * It works by endpoint: hints and scans say which endpoints have work, claims are made for those that
 * have room, and results are written in batches. An endpoint that hangs holds only its own slots.
 */
export function createWebhookDispatcher(deps: WebhookDispatcherDeps): WebhookDispatcher {
  const { db, bus, clock, log } = deps;
  const leaseMs = deps.leaseMs ?? 60_000;
  const timeoutMs = deps.timeoutMs ?? 15_000;
  const endpoints = createEndpoints();
  const recorder = createAttemptRecorder({ db, log });
  const finder = createWorkFinder({ db, clock, log, endpoints, onFound: wantClaim });
  const isAlive = () => deps.pulse?.isAlive() ?? true;
  const workerId = () => deps.pulse?.id() ?? null;
  const attempts = createAttempts({
    clock,
    isAlive,
    outbound: deps.outbound,
    random: deps.random ?? Math.random,
    timeoutMs,
    onResult,
    onSlow: wantClaim,
    giveBack,
  });
  const stopping = new AbortController();
  let scanning: Promise<void> = Promise.resolve();
  /** Claimed and not ended. */
  let held = 0;
  /** Asked for by the claims on their way. */
  let asked = 0;
  /** Companies that a claim is on its way for, or that rest after one. */
  const asking = new Set<number>();
  const claims = new Set<Promise<void>>();
  const releases = new Set<Promise<void>>();
  /** Work had to be left out for want of budget: held deliveries at that time. */
  let starvedAt: number | null = null;
  let claimIsDue = false;
  let freshAtMs = Number.NEGATIVE_INFINITY;
  /** No retries are claimed before; infinite while a claim of some is on its way. */
  let retriesFromMs = 0;

  function onHint(hint?: string): void {
    if (stopping.signal.aborted) return;
    const changed = hint === undefined ? null : changedWebhook(hint);
    const company = hint === undefined ? null : changedCompany(hint);
    if (changed !== null) forgetConfig(changed);
    else if (company !== null) onCompany(company);
    else if (hint === RETRIES_HINT) finder.onRetries();
    else finder.onNew();
  }

  /** Suspended, it gets nothing more of what waits here; reactivated, it gets what has waited. */
  function onCompany(companyId: number): void {
    for (const endpoint of endpoints.all.values())
      if (endpoint.companyId === companyId) forgetConfig(endpoint.webhookId);
    finder.onRetries();
  }

  /** What waits here for a webhook that was changed, disabled or deleted is claimed anew, if it still may. */
  function forgetConfig(webhookId: number): void {
    const endpoint = endpoints.all.get(webhookId);
    if (!endpoint?.config) return;
    endpoint.config = null;
    attempts.begin(endpoint);
  }

  /** What ends in the same turn of the event loop makes room for one claim, not for one each. */
  function wantClaim(): void {
    if (claimIsDue) return;
    claimIsDue = true;
    setImmediate(() => {
      claimIsDue = false;
      while (claims.size < CLAIMS_MAX && !stopping.signal.aborted && startClaim());
    });
  }

  /** Claims for the companies that no claim is on its way for; false when they want nothing or nothing is left. */
  function startClaim(): boolean {
    const quotas = nextQuotas();
    if (quotas.length === 0) return false;
    const wanted = quotas.reduce((sum, quota) => sum + quota.fresh + quota.retries, 0);
    const companies = sharesOf(quotas);
    for (const company of companies.keys()) asking.add(company);
    asked += wanted;
    const startedAtMs = performance.now();
    const claim = claimFor(quotas)
      .catch(async (err) => {
        log.warn({ err }, 'claiming webhook deliveries failed, trying again');
        await delay(CLAIM_RETRY_MS);
      })
      .finally(() => {
        claims.delete(claim);
        asked -= wanted;
        const restMs = (performance.now() - startedAtMs) * BURST_REST;
        for (const [company, fresh] of companies)
          if (fresh >= FULL_SHARE && endpoints.areShared()) rest(company, restMs);
          else asking.delete(company);
        wantClaim();
      });
    claims.add(claim);
    return true;
  }

  /**
   * First attempts asked for, by company. What was asked for and not what came decides on a rest: a burst comes
   * in pieces, and without rests between them the p99 of the others was 2.0 to 2.1 times the quiet one, not
   * 1.3 to 1.7.
   */
  function sharesOf(quotas: readonly Quota[]): Map<number, number> {
    const shares = new Map<number, number>();
    for (const { webhookId, fresh } of quotas) {
      const { companyId } = endpoints.all.get(webhookId)!;
      shares.set(companyId, (shares.get(companyId) ?? 0) + fresh);
    }
    return shares;
  }

  function rest(company: number, restMs: number): void {
    setTimeout(() => {
      asking.delete(company);
      wantClaim();
    }, restMs).unref();
  }

  function nextQuotas(): Quota[] {
    const expected = held + asked;
    const budget = Math.min(
      HELD_MAX - (expected - attempts.slow()),
      HELD_WITH_SLOW_MAX - expected,
      CLAIM_MAX,
    );
    const blocked = budget <= 0 || !isAlive() || recorder.backlog() > RECORD_BACKLOG_MAX;
    const monotonicMs = performance.now();
    const retries = monotonicMs >= retriesFromMs ? RETRIES_MAX : 0;
    const quotas = blocked
      ? []
      : endpoints.quotas({ all: budget, retries }, { clockMs: clock.now().getTime(), monotonicMs }, asking);
    const granted = quotas.reduce((sum, quota) => sum + quota.fresh + quota.retries, 0);
    if (blocked || granted >= budget) starvedAt = held;
    else if (asking.size === 0) starvedAt = null;
    return quotas;
  }

  async function claimFor(quotas: Quota[]): Promise<void> {
    // What is hinted while the claim is on its way must not be taken for answered by it.
    for (const { webhookId, fresh, retries } of quotas) {
      const endpoint = endpoints.all.get(webhookId)!;
      if (fresh > 0) endpoint.moreFresh = false;
      if (retries > 0) endpoint.retryAtMs = null;
      // Nor may it be forgotten as idle meanwhile.
      endpoint.askedAtMs = performance.now();
    }
    const claimed = (await claimPaced(quotas)).filter(isStillOurs);
    for (const delivery of claimed) finder.sawId(delivery.id);
    for (const quota of quotas)
      learnFromClaim(
        endpoints.all.get(quota.webhookId)!,
        quota,
        claimed.filter(({ webhookId }) => webhookId === quota.webhookId),
      );
    const lost = claimed.filter((delivery) => isLost(delivery));
    await take(claimed.filter((delivery) => !isLost(delivery)));
    if (lost.length > 0)
      await discardDeliveries(
        db,
        lost.map(({ id }) => id),
      );
  }

  /** Claimed under a name that was taken from us meanwhile: free again, and somebody else's to claim. */
  function isStillOurs({ claimedBy }: HeldDelivery): boolean {
    return claimedBy === workerId();
  }

  async function claimPaced(quotas: Quota[]): Promise<HeldDelivery[]> {
    const asksRetries = quotas.some(({ retries }) => retries > 0);
    if (asksRetries) retriesFromMs = Number.POSITIVE_INFINITY;
    const startedAtMs = performance.now();
    let restMs = 0;
    try {
      const claimedBy = workerId();
      const found = await claimDeliveries(db, { quotas, now: clock.now(), leaseMs, worker: claimedBy });
      const leasedUntilMs = startedAtMs + leaseMs;
      const beginUntilMs = leasedUntilMs - Math.min(timeoutMs + LEASE_MARGIN_MS, leaseMs / 2);
      const claimed = found.map((delivery) =>
        Object.assign(delivery, { leasedUntilMs, beginUntilMs, claimedBy }),
      );
      const now = performance.now();
      if (claimed.some(({ attempts }) => attempts === 0)) freshAtMs = now;
      if (claimed.some(({ attempts }) => attempts > 0) && now - freshAtMs < LIVE_MS)
        restMs = (now - startedAtMs) * RETRY_REST;
      return claimed;
    } finally {
      if (asksRetries) {
        retriesFromMs = performance.now() + restMs;
        if (restMs > 0) setTimeout(wantClaim, restMs + 1).unref();
      }
    }
  }

  /** Puts claimed deliveries to their endpoints, whose configuration is read anew where it has changed. */
  async function take(claimed: HeldDelivery[]): Promise<void> {
    held += claimed.length;
    const stale = new Set<number>();
    for (const { webhookId, webhookVersion } of claimed)
      if (endpoints.all.get(webhookId)!.config?.version !== webhookVersion) stale.add(webhookId);
    if (stale.size > 0) {
      const configs = await readEndpointConfigs({ db, cipher: deps.cipher }, [...stale]).catch((err) => {
        giveBack(claimed);
        throw err;
      });
      for (const id of stale) endpoints.all.get(id)!.config = configs.get(id) ?? null;
    }
    for (const delivery of claimed) {
      const endpoint = endpoints.all.get(delivery.webhookId)!;
      (delivery.attempts === 0 ? endpoint.fresh : endpoint.retries).push(delivery);
      attempts.begin(endpoint);
    }
  }

  function onResult(endpoint: Endpoint, result: AttemptResult): void {
    held -= 1;
    recorder.add(result);
    const retryAtMs = result.nextAttemptAt?.getTime();
    if (retryAtMs !== undefined) {
      if (endpoint.retryAtMs === null || retryAtMs < endpoint.retryAtMs) endpoint.retryAtMs = retryAtMs;
      finder.onRetryAt(retryAtMs);
    }
    if (result.statusCode === 410)
      disableGoneWebhook(db, {
        webhookId: endpoint.webhookId,
        url: result.webhookUrl,
        at: result.endedAt,
      }).catch((err) => log.warn({ err }, 'disabling a webhook failed'));
    // The end of the claim that is on its way asks again by itself.
    if (asking.has(endpoint.companyId)) return;
    if (starvedAt !== null ? held <= starvedAt - STARVED_STEP : wants(endpoint)) wantClaim();
  }

  function wants(endpoint: Endpoint): boolean {
    return wishOf(endpoint, { clockMs: clock.now().getTime(), monotonicMs: performance.now() }) !== null;
  }

  function giveBack(deliveries: HeldDelivery[]): void {
    if (deliveries.length === 0) return;
    held -= deliveries.length;
    // They stand before what was claimed last.
    for (const { webhookId } of deliveries) endpoints.all.get(webhookId)!.freshFromId = 0;
    // Those whose lease is over may be another worker's by now.
    const now = performance.now();
    const ours = deliveries.filter(
      (delivery) => delivery.leasedUntilMs > now && isStillOurs(delivery) && isAlive(),
    );
    const release = releaseDeliveries(
      db,
      ours.map((delivery) => delivery.id),
      workerId(),
    )
      .catch((err) => log.warn({ err }, 'giving back webhook deliveries failed, their leases will end'))
      .finally(() => releases.delete(release));
    releases.add(release);
  }

  function takeWaiting(): HeldDelivery[] {
    return [...endpoints.all.values()].flatMap((endpoint) => [
      ...endpoint.fresh.splice(0),
      ...endpoint.retries.splice(0),
    ]);
  }

  /** Others make what waits here. What is under way ends here all the same, and is recorded if nobody was faster. */
  function onFenced(): void {
    held -= takeWaiting().length;
    finder.onRetries();
  }

  function onAlive(): void {
    for (const endpoint of endpoints.all.values()) attempts.begin(endpoint);
    wantClaim();
  }

  return {
    async start() {
      deps.pulse?.onFenced(onFenced);
      deps.pulse?.onAlive(onAlive);
      await finder.prepare();
      bus.on('deliveries', (hint) => onHint(hint));
      bus.onReset((up) => (up ? onHint() : undefined));
      attempts.start();
      scanning = finder.run(stopping.signal);
    },
    async stop() {
      stopping.abort();
      await Promise.all([scanning, ...claims]);
      giveBack(takeWaiting());
      const cutOff = await attempts.stop(STOP_MS);
      await recorder.stop();
      giveBack(cutOff);
      await Promise.all(releases);
    },
    load: () => ({ inFlight: attempts.inFlight(), held, endpoints: endpoints.all.size }),
  };
}

/** Its webhook is gone, or its event past its retention: it can't be made any more. */
function isLost(delivery: ClaimedDelivery): boolean {
  return delivery.body === null || delivery.webhookVersion === null;
}
