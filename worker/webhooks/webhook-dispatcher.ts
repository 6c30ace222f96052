import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import type { Bus } from '@posthorn/core/platform/bus.ts';
import type { Clock } from '@posthorn/core/platform/clock.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Log } from '@posthorn/core/platform/log.ts';
import { faultOf, type Outbound, OutboundError } from '@posthorn/core/platform/outbound-http.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  discardDeliveries,
  type Quota,
  releaseDeliveries,
} from '@posthorn/core/webhooks/delivery/claim-deliveries.ts';
import { readEndpointConfigs } from '@posthorn/core/webhooks/delivery/endpoint-config.ts';
import { allowedInFlight, isBroken, learn } from '@posthorn/core/webhooks/delivery/endpoint-control.ts';
import { findAllDue, findNewlyDue, RETRIES_HINT } from '@posthorn/core/webhooks/delivery/find-due.ts';
import { classOfStatus, parseRetryAfterMs, retryDelayMs } from '@posthorn/core/webhooks/delivery/outcome.ts';
import { disableGoneWebhook } from '@posthorn/core/webhooks/delivery/record-attempts.ts';
import { signWebhook } from '@posthorn/core/webhooks/delivery/sign.ts';
import { createAttemptRecorder } from './attempt-recorder.ts';
import { createEndpoints, type Endpoint, expectFresh, wishOf } from './endpoints.ts';
import { type PostAnswer, PostAttempt } from './post-attempt.ts';

export interface WebhookDispatcherDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  cipher: Cipher;
  outbound: Outbound;
  /** In [0, 1); for the jitter of retries. */
  random?: () => number;
  /** For an attempt in all, body read included. Default 15 s (design 4). */
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
/** Small claims: the deliveries of others wait for one that is on its way, and for its attempts to begin. */
const CLAIM_MAX = 128;
/** All together: what bounds the memory and the sockets when hundreds of endpoints hang. */
const HELD_WITH_SLOW_MAX = 4096;
const SLOW_MS = 1_000;
const STARVED_STEP = 64;
const RECORD_BACKLOG_MAX = 4_000;
const SCAN_MS = 1_000;
const DISCOVER_MS = 20;
/** Ids are given out in another order than their transactions commit in, by about this much. */
const ID_MARGIN = 200;
const ACTIVE_MS = 2_000;
const STOP_MS = 5_000;

/**
 * Makes the due deliveries of `webhook_deliveries` (design 4). Any number of processes may run one.
 *
 * It works by endpoint: hints and scans say which endpoints have work, each round claims for those that
 * have room, and results are written in batches. An endpoint that hangs holds only its own slots.
 */
export function createWebhookDispatcher(deps: WebhookDispatcherDeps): WebhookDispatcher {
  const { db, bus, clock, log } = deps;
  const random = deps.random ?? Math.random;
  const timeoutMs = deps.timeoutMs ?? 15_000;
  const leaseMs = deps.leaseMs ?? 60_000;
  const endpoints = createEndpoints();
  const recorder = createAttemptRecorder({ db, log });
  /** Under way, in the order they began: the first to time out stands first. */
  const underWay = new Map<PostAttempt, { endpoint: Endpoint; delivery: ClaimedDelivery }>();
  const stopping = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  let held = 0;
  let slow = 0;
  let highestId = 0;
  let discoveredAt = 0;
  let hinted = false;
  let discovering: Promise<void> | null = null;
  let discoverTimer: NodeJS.Timeout | null = null;
  /** Work had to be left out for want of budget: held deliveries at that time. */
  let starvedAt: number | null = null;
  let wakeClaim: (() => void) | null = null;
  let claimWanted = false;
  let wakeScan = new AbortController();
  const releases = new Set<Promise<void>>();

  function wantClaim(): void {
    claimWanted = true;
    wakeClaim?.();
  }

  function onHint(payload: string): void {
    if (payload === RETRIES_HINT) {
      fullScanAtMs = 0;
      wakeScan.abort();
      return;
    }
    hinted = true;
    const activeSince = performance.now() - ACTIVE_MS;
    // Those that had work a moment ago likely have it again: claimed for without asking which.
    for (const endpoint of endpoints.all.values())
      if (endpoint.activeAtMs > activeSince) endpoint.moreFresh = true;
    wantClaim();
  }

  async function claimLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (!claimWanted)
        await new Promise<void>((resolve) => {
          wakeClaim = resolve;
        });
      wakeClaim = null;
      // What ends in the same turn of the event loop makes room for one claim, not for one each.
      await new Promise((resolve) => setImmediate(resolve));
      claimWanted = false;
      if (stopping.signal.aborted) return;
      try {
        if (hinted) discover();
        await claimRound();
      } catch (err) {
        log.warn({ err }, 'claiming webhook deliveries failed, trying again');
        await delay(SCAN_MS / 2);
        claimWanted = true;
      }
    }
  }

  /** Beside the claims, which meanwhile go on for the endpoints that are known to be active. */
  function discover(): void {
    if (discovering) return;
    const wait = discoveredAt + DISCOVER_MS - performance.now();
    if (wait > 0) {
      discoverTimer ??= setTimeout(() => {
        discoverTimer = null;
        wantClaim();
      }, wait);
      return;
    }
    hinted = false;
    discovering = findNewlyDue(db, Math.max(0, highestId - ID_MARGIN))
      .then((found) => {
        highestId = Math.max(highestId, found.highestId);
        for (const { webhookId, companyId } of found.endpoints)
          endpoints.get(webhookId, companyId).moreFresh = true;
        if (found.endpoints.length > 0 || hinted) wantClaim();
      })
      // The scan finds them a second later.
      .catch((err) => log.warn({ err }, 'looking for new webhook deliveries failed'))
      .finally(() => {
        discovering = null;
        discoveredAt = performance.now();
      });
  }

  async function claimRound(): Promise<void> {
    const budget = Math.min(HELD_MAX - (held - slow), HELD_WITH_SLOW_MAX - held, CLAIM_MAX);
    const now = clock.now();
    const blocked = budget <= 0 || recorder.backlog() > RECORD_BACKLOG_MAX;
    const quotas = blocked
      ? []
      : endpoints.quotas(budget, { clockMs: now.getTime(), monotonicMs: performance.now() });
    const granted = quotas.reduce((sum, quota) => sum + quota.fresh + quota.retries, 0);
    starvedAt = blocked || granted >= budget ? held : null;
    if (quotas.length === 0) return;
    // What is hinted while the claim is on its way must not be taken for answered by it.
    for (const { webhookId, fresh, retries } of quotas) {
      const endpoint = endpoints.all.get(webhookId)!;
      if (fresh > 0) endpoint.moreFresh = false;
      if (retries > 0) endpoint.retryAtMs = null;
      // Nor may it be forgotten as idle meanwhile.
      endpoint.activeAtMs = performance.now();
    }
    const claimed = await claimDeliveries(db, { quotas, now, leaseMs });
    await accept(claimed, quotas);
  }

  async function accept(claimed: ClaimedDelivery[], quotas: readonly Quota[]): Promise<void> {
    const counts = new Map<number, { fresh: number; retries: number }>();
    const lost: number[] = [];
    const stale = new Set<number>();
    const good: ClaimedDelivery[] = [];
    for (const delivery of claimed) {
      highestId = Math.max(highestId, delivery.id);
      const count = counts.get(delivery.webhookId) ?? { fresh: 0, retries: 0 };
      counts.set(delivery.webhookId, count);
      if (delivery.attempts === 0) count.fresh += 1;
      else count.retries += 1;
      if (delivery.body === null || delivery.webhookVersion === null) {
        lost.push(delivery.id);
        continue;
      }
      good.push(delivery);
      const endpoint = endpoints.all.get(delivery.webhookId)!;
      if (endpoint.config?.version !== delivery.webhookVersion) stale.add(delivery.webhookId);
    }
    for (const { webhookId, fresh, retries } of quotas) {
      const endpoint = endpoints.all.get(webhookId)!;
      const count = counts.get(webhookId);
      if (fresh > 0) expectFresh(endpoint, { asked: fresh, got: count?.fresh ?? 0 });
      if (!count) continue;
      // A full claim: there is more. A short one emptied the queue.
      if (fresh > 0 && count.fresh >= fresh) endpoint.moreFresh = true;
      if (retries > 0 && count.retries >= retries) endpoint.retryAtMs = 0;
      endpoint.activeAtMs = performance.now();
    }
    held += good.length;
    if (stale.size > 0) {
      const configs = await readEndpointConfigs({ db, cipher: deps.cipher }, [...stale]).catch((err) => {
        giveBack(good);
        throw err;
      });
      for (const id of stale) endpoints.all.get(id)!.config = configs.get(id) ?? null;
    }
    const touched = new Set<Endpoint>();
    for (const delivery of good) {
      const endpoint = endpoints.all.get(delivery.webhookId)!;
      (delivery.attempts === 0 ? endpoint.fresh : endpoint.retries).push(delivery);
      touched.add(endpoint);
    }
    for (const endpoint of touched) startMore(endpoint);
    if (lost.length > 0) await discardDeliveries(db, lost);
    wantClaim();
  }

  function startMore(endpoint: Endpoint): void {
    const allowed = allowedInFlight(endpoint.control, performance.now());
    while (endpoint.inFlight < allowed) {
      const delivery = endpoint.fresh.shift() ?? endpoint.retries.shift();
      if (!delivery) return;
      startAttempt(endpoint, delivery);
    }
  }

  function startAttempt(endpoint: Endpoint, delivery: ClaimedDelivery): void {
    const { config } = endpoint;
    // Without one the webhook was deleted a moment ago: the next claim discards its deliveries.
    if (!config || stopping.signal.aborted) {
      giveBack([delivery]);
      return;
    }
    endpoint.inFlight += 1;
    if (delivery.attempts > 0) endpoint.retriesInFlight += 1;
    const finish = (answer: PostAnswer) => onAnswer(endpoint, delivery, attempt, answer);
    let attempt: PostAttempt | null = null;
    try {
      if (config.unusable) throw config.unusable;
      const body = Buffer.from(delivery.body!);
      const nowMs = clock.now().getTime();
      const timestampS = Math.floor(nowMs / 1000);
      const keys =
        config.previousKeyUntilMs !== null && config.previousKeyUntilMs <= nowMs
          ? config.keys.slice(0, 1)
          : config.keys;
      const headers = [
        ...config.headers,
        'webhook-id',
        delivery.eventId,
        'webhook-timestamp',
        String(timestampS),
        'webhook-signature',
        signWebhook(keys, { id: delivery.eventId, timestampS, body }),
      ];
      attempt = new PostAttempt(deps.outbound.to(config.url), { path: config.path, headers, body }, finish);
      underWay.set(attempt, { endpoint, delivery });
    } catch (err) {
      finish({ statusCode: null, retryAfter: undefined, response: '', latencyMs: 0, err: err as Error });
    }
  }

  function onAnswer(
    endpoint: Endpoint,
    delivery: ClaimedDelivery,
    attempt: PostAttempt | null,
    answer: PostAnswer,
  ): void {
    if (attempt) underWay.delete(attempt);
    if (attempt && slowOnes.delete(attempt)) slow -= 1;
    held -= 1;
    endpoint.inFlight -= 1;
    if (delivery.attempts > 0) endpoint.retriesInFlight -= 1;
    if (answer.err === STOPPED) return;
    const endedAt = clock.now();
    const errorClass: ErrorClass = answer.err ? faultOf(answer.err) : classOfStatus(answer.statusCode!);
    const latencyMs = Math.round(answer.latencyMs);
    learn(endpoint.control, { errorClass, latencyMs, nowMs: performance.now() });
    const attemptNumber = delivery.attempts + 1;
    const delayMs =
      errorClass === ''
        ? null
        : retryDelayMs({
            attempt: attemptNumber,
            errorClass,
            statusCode: answer.statusCode,
            retryAfterMs: parseRetryAfterMs(answer.retryAfter, endedAt.getTime()),
            random: random(),
          });
    recorder.add({
      deliveryId: delivery.id,
      attempt: attemptNumber,
      webhookUrl: endpoint.config?.webhookUrl ?? '',
      eventType: delivery.type,
      instanceId: delivery.instanceId,
      statusCode: answer.statusCode,
      errorClass,
      response: answer.err && answer.response === '' ? answer.err.message.slice(0, 200) : answer.response,
      latencyMs,
      endedAt,
      nextAttemptAt: delayMs === null ? null : new Date(endedAt.getTime() + delayMs),
    });
    if (delayMs !== null) retryKnown(endpoint, endedAt.getTime() + delayMs);
    if (answer.statusCode === 410)
      disableGoneWebhook(db, endpoint.webhookId, endedAt).catch((err) =>
        log.warn({ err }, 'disabling a webhook failed'),
      );
    if (isBroken(endpoint.control, performance.now()))
      giveBack([...endpoint.fresh.splice(0), ...endpoint.retries.splice(0)]);
    else startMore(endpoint);
    if (starvedAt !== null ? held <= starvedAt - STARVED_STEP : wants(endpoint)) wantClaim();
  }

  function wants(endpoint: Endpoint): boolean {
    return wishOf(endpoint, { clockMs: clock.now().getTime(), monotonicMs: performance.now() }) !== null;
  }

  /** The scan need not find what this process scheduled itself. */
  function retryKnown(endpoint: Endpoint, atMs: number): void {
    if (endpoint.retryAtMs === null || atMs < endpoint.retryAtMs) endpoint.retryAtMs = atMs;
    if (atMs < scanAtMs) wakeScan.abort();
  }

  function giveBack(deliveries: ClaimedDelivery[]): void {
    held -= deliveries.length;
    const ids = deliveries.map((delivery) => delivery.id);
    const release = releaseDeliveries(db, ids)
      .catch((err) => log.warn({ err }, 'giving back webhook deliveries failed, their leases will end'))
      .finally(() => releases.delete(release));
    releases.add(release);
  }

  let scanAtMs = Number.POSITIVE_INFINITY;
  let fullScanAtMs = 0;

  /** Finds what no hint told of, and wakes the claim when a retry falls due. */
  async function scanLoop(): Promise<void> {
    while (!stopping.signal.aborted) {
      // Before the scan: what is hinted while it runs must not be taken for seen by it.
      wakeScan = new AbortController();
      const wake = AbortSignal.any([stopping.signal, wakeScan.signal]);
      try {
        const nowMs = clock.now().getTime();
        if (nowMs >= fullScanAtMs) {
          fullScanAtMs = Number.POSITIVE_INFINITY;
          const nextAtMs = nowMs + (await scan());
          fullScanAtMs = Math.min(fullScanAtMs, nextAtMs);
        }
        scanAtMs = fullScanAtMs;
        for (const { retryAtMs } of endpoints.all.values())
          if (retryAtMs !== null && retryAtMs > nowMs && retryAtMs < scanAtMs) scanAtMs = retryAtMs;
        wantClaim();
      } catch (err) {
        log.warn({ err }, 'looking for due webhook deliveries failed, trying again');
        scanAtMs = clock.now().getTime() + SCAN_MS;
        fullScanAtMs = scanAtMs;
      }
      try {
        await clock.sleep(Math.max(1, scanAtMs - clock.now().getTime()), wake);
      } catch {
        // Woken early.
      }
    }
  }

  /** Returns when to scan again: a scan of ten thousand endpoints takes a tenth of a second. */
  async function scan(): Promise<number> {
    const startedAt = performance.now();
    for (const due of await findAllDue(db)) {
      const endpoint = endpoints.get(due.webhookId, due.companyId);
      if (due.retryAt === null) endpoint.moreFresh = true;
      else endpoint.retryAtMs = due.retryAt.getTime();
    }
    endpoints.forgetIdle({ monotonicMs: performance.now() });
    return Math.max(SCAN_MS, (performance.now() - startedAt) * 20);
  }

  const slowOnes = new Set<PostAttempt>();

  /** Ends attempts whose time is up, and counts those that have become slow. */
  function tick(): void {
    const now = performance.now();
    for (const attempt of underWay.keys()) {
      const ageMs = now - attempt.startedAt;
      if (ageMs < SLOW_MS) break;
      if (ageMs >= timeoutMs)
        attempt.abort(new OutboundError('timeout', `no complete answer within ${timeoutMs} ms`));
      else if (!slowOnes.has(attempt)) {
        slowOnes.add(attempt);
        slow += 1;
        claimWanted = true;
      }
    }
    if (claimWanted) wantClaim();
  }

  let ticker: NodeJS.Timeout | null = null;

  return {
    async start() {
      bus.on('deliveries', onHint);
      bus.onReset((up) => (up ? onHint('') : undefined));
      ticker = setInterval(tick, Math.min(250, timeoutMs / 4));
      const { rows } = await db.query<{ highest: number }>(
        `SELECT coalesce(max(id), 0) AS highest FROM webhook_deliveries`,
      );
      highestId = rows[0]!.highest;
      running = Promise.all([claimLoop(), scanLoop()]);
    },
    async stop() {
      stopping.abort();
      wantClaim();
      await running;
      for (const endpoint of endpoints.all.values())
        giveBack([...endpoint.fresh.splice(0), ...endpoint.retries.splice(0)]);
      const deadline = performance.now() + STOP_MS;
      while (underWay.size > 0 && performance.now() < deadline) await delay(20);
      const left = [...underWay];
      for (const [attempt] of left) attempt.abort(STOPPED);
      if (ticker) clearInterval(ticker);
      if (discoverTimer) clearTimeout(discoverTimer);
      await discovering;
      await recorder.stop();
      await Promise.all(releases);
      await releaseDeliveries(
        db,
        left.map(([, { delivery }]) => delivery.id),
      ).catch(() => undefined);
    },
    load: () => ({ inFlight: underWay.size, held, endpoints: endpoints.all.size }),
  };
}

/** An attempt that ends with the process is no attempt: it is made again under the same number. */
const STOPPED = new Error('the worker stops');
