/**
 * The delivery of webhooks (WHK-5 to WHK-13). This file starts and stops it; each other file of the folder is one step
 * or decision.
 *
 * A delivery is a row of `webhook_deliveries`, written with its event. It is in one of these states:
 *
 *   due        nobody holds it (no lease, a lease that has ended, or one of a dead worker), and `next_attempt_at` is past.
 *              It stays due while its webhook is disabled or its company is suspended: claims leave it out.
 *   scheduled  an attempt failed, and `next_attempt_at` of the next one is in the future.
 *   claimed    leased to this worker, waiting here for a slot of its endpoint.
 *   attempted  the request is under way, under the same lease.
 *   deleted    the row is gone. The logs of its attempts stay.
 *
 *   (new) -> due            its event was written (`core/events/insert-events.ts`).
 *   (new) -> claimed        the same, the short way (`core/events/direct-delivery.ts`, `direct-delivery.ts`).
 *   due -> claimed          a claim took it (`find-work.ts`, `claim-work.ts`, `claim-deliveries.ts`).
 *   scheduled -> due        its time has come.
 *   scheduled -> claimed    the same claims, before its time: its endpoint was away and answers again (`catch-up.ts`).
 *   claimed -> attempted    its endpoint has a free slot (`attempt-decisions.ts`, `attempts.ts`).
 *   claimed -> scheduled    released before its time, which the claim left as it was.
 *   claimed -> due          released: the webhook or its company changed, the breaker opened, the endpoint answered 410,
 *                           the lease might end during an attempt, the endpoint failed while it caught up, or the worker
 *                           stops (`release` in `dispatcher-context.ts`). Also when the worker is declared dead, or its lease ends.
 *   claimed -> deleted      its webhook or its event is gone (`discardDeliveries`).
 *   attempted -> due        the worker stopped or died before the result was recorded: the attempt is repeated under the
 *                           same number.
 *   attempted -> scheduled  the attempt failed and another follows (`outcome.ts`, `record-attempts.ts`).
 *   attempted -> deleted    it succeeded, or no attempt follows.
 *   scheduled, deleted -> due  somebody retries it by a log (`core/webhooks/retry-deliveries.ts`).
 *   any -> deleted          its webhook is deleted, or the event is past its retention.
 *
 * An attempt that outlasts its lease may be made twice; only the first result of each attempt number is recorded.
 *
 * An endpoint is one webhook as this process knows it (`endpoints.ts`): from when work was found for it until it was
 * idle for a minute. Its breaker (`endpoint-control.ts`) is in one of these states:
 *
 *   closed   gets up to `cap` attempts at once. An answer raises the cap, a fault halves it (at most once a second).
 *   open     gets nothing, for a twentieth of the time since its first fault: 4 s at least, 120 s at most.
 *   probing  the wait is over: gets one attempt at a time.
 *
 *   closed -> open     five slow faults without an answer between them: timeouts, or other faults that took 5 s.
 *   open -> probing    the wait is over, or the webhook was changed.
 *   probing -> closed  it answered; the cap starts at 4. A late answer closes an open breaker too.
 *   probing -> open    another slow fault. A quick fault changes nothing.
 *
 * Whether it is behind is another matter (`catch-up.ts`). A success after at least two faults and two seconds without one,
 * or the first one that this process sees while retries wait, means that it is back:
 *
 *   up to date   its retries are claimed when they are due.
 *   catching up  they are claimed oldest first, due or not, as many at once as its window allows.
 *   paused       it failed meanwhile: as up to date, until a success after a pause of 2 s, twice as long each time up to 120 s.
 *
 *   up to date -> catching up  it is back; the window starts at 1. Also when an attempt fails that began before it was.
 *   catching up -> up to date  nothing waits, for 2 s.
 *   catching up -> paused      its window, which loses three quarters with each failure, is zero.
 *   paused -> catching up      a success after the pause.
 *
 * Its configuration is another matter. It is unknown (`config` is null) before the first claim and after a change of the
 * webhook or its company: nothing begins until deliveries are claimed again and it has been read. An endpoint that
 * answers 410 loses it, and its webhook is disabled until its owner enables it (`disableGoneWebhook`).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { DirectDelivery } from '@posthorn/core/events/direct-delivery.ts';
import { isUnavailable } from '@posthorn/core/platform/database/database-errors.ts';
import {
  changedCompany,
  changedWebhook,
  directNotification,
  RETRIES_NOTIFICATION,
} from '@posthorn/core/webhooks/notifications.ts';
import { takeAll } from './attempt-decisions.ts';
import { createAttemptRecorder } from './attempt-recorder.ts';
import { createAttempts } from './attempts.ts';
import { afterHolding, NOTHING_CLAIMED, wantsClaim } from './claim-state.ts';
import { wantClaim } from './claim-work.ts';
import { createDirectDelivery } from './direct-delivery.ts';
import {
  type DispatcherContext,
  isAlive,
  release,
  type WebhookDispatcherDeps,
} from './dispatcher-context.ts';
import { endBreak } from './endpoint-control.ts';
import { createEndpoints, desiredOf, type Endpoint, type HeldDelivery } from './endpoints.ts';
import { createWorkFinder } from './find-work.ts';
import { type AttemptResult, disableGoneWebhook } from './record-attempts.ts';

export interface WebhookDispatcher {
  start(): Promise<void>;
  /** Lets attempts in progress end (5 s), releases the rest, writes the known results. */
  stop(): Promise<void>;
  /** For code in this process that writes events. */
  direct: DirectDelivery;
  /** Attempts in progress and deliveries held, for metrics. */
  load(): { inFlight: number; held: number; endpoints: number };
}

const STOP_MS = 5_000;
const DISABLE_RETRY_MS = 500;
/**
 * Makes the due deliveries of `webhook_deliveries` (WHK-13). Any number of processes may run one.
 * Notifications and scans report which endpoints have work, claims are made for endpoints with room, and
 * results are written in batches. An endpoint that hangs holds only its own slots.
 */
export function createWebhookDispatcher(deps: WebhookDispatcherDeps): WebhookDispatcher {
  const context = createContext(deps);
  const { attempts, finder, recorder, endpoints } = context;
  return {
    async start() {
      deps.pulse?.onFenced(() => onFenced(context));
      deps.pulse?.onAlive(() => onAlive(context));
      await finder.prepare();
      deps.bus.on('deliveries', (notification) => onNotification(context, notification));
      deps.bus.onReset((up) => (up ? onMissed(context) : undefined));
      attempts.start();
      finder.start();
    },
    async stop() {
      context.isStopping = true;
      await Promise.all([finder.stop(), ...context.claims, ...context.handOvers]);
      release(context, removeWaiting(context));
      const cutOff = await attempts.stop(STOP_MS);
      await Promise.all(context.disablings);
      await recorder.stop();
      release(context, cutOff);
      await Promise.all(context.releases);
    },
    direct: createDirectDelivery(context),
    load: () => ({
      inFlight: attempts.inFlight(),
      held: context.state.held,
      endpoints: endpoints.all.size,
    }),
  };
}

function createContext(deps: WebhookDispatcherDeps): DispatcherContext {
  const timeoutMs = deps.timeoutMs ?? 15_000;
  const endpoints = createEndpoints();
  const context: DispatcherContext = {
    deps,
    leaseMs: deps.leaseMs ?? 60_000,
    timeoutMs,
    endpoints,
    recorder: createAttemptRecorder(deps),
    finder: createWorkFinder({ ...deps, endpoints, onFound: () => wantClaim(context) }),
    attempts: createAttempts({
      clock: deps.clock,
      ...(deps.counts && { counts: deps.counts }),
      trace: deps.trace,
      isAlive: () => isAlive(context),
      outbound: deps.outbound,
      random: deps.random ?? Math.random,
      timeoutMs,
      onResult: (endpoint, result) => onResult(context, endpoint, result),
      onSlow: () => wantClaim(context),
      release: (deliveries) => release(context, deliveries),
    }),
    state: NOTHING_CLAIMED,
    lastLeaseMs: 0,
    lostLeases: [],
    claims: new Set(),
    handOvers: new Set(),
    ownNotification: directNotification(randomUUID()),
    releases: new Set(),
    disablings: new Set(),
    isClaimDue: false,
    isStopping: false,
  };
  return context;
}

function onNotification(context: DispatcherContext, notification?: string): void {
  if (context.isStopping || notification === context.ownNotification) return;
  const changed = notification === undefined ? null : changedWebhook(notification);
  const company = notification === undefined ? null : changedCompany(notification);
  if (changed !== null) onChanged(context, changed);
  else if (company !== null) onCompany(context, company);
  else if (notification === RETRIES_NOTIFICATION) context.finder.onRetries();
  else context.finder.onNew();
}

/** Its owner may have given it another address, or mended it: it is tried at once, also while its breaker is open. */
function onChanged(context: DispatcherContext, webhookId: number): void {
  const endpoint = context.endpoints.all.get(webhookId);
  if (endpoint) endBreak(endpoint.control, performance.now());
  forgetConfig(context, webhookId);
}

/**
 * Changes made while the bus was away are unknown: all configurations are forgotten, and deliveries are looked for
 * again.
 */
function onMissed(context: DispatcherContext): void {
  for (const webhookId of context.endpoints.all.keys()) forgetConfig(context, webhookId);
  context.finder.onNew();
  context.finder.onRetries();
}

/**
 * A suspended company's waiting deliveries are released; a reactivated company's waiting ones are claimed.
 */
function onCompany(context: DispatcherContext, companyId: number): void {
  for (const endpoint of context.endpoints.all.values())
    if (endpoint.companyId === companyId) forgetConfig(context, endpoint.webhookId);
  context.finder.onRetries();
}

/**
 * Deliveries waiting here for a changed, disabled or deleted webhook are claimed again if they still may be.
 */
function forgetConfig({ endpoints, attempts }: DispatcherContext, webhookId: number): void {
  const endpoint = endpoints.all.get(webhookId);
  if (!endpoint) return;
  // Set even if no configuration is known: a claim or a read of the configuration may be in progress.
  endpoint.changedAtMs = Math.max(endpoint.changedAtMs, performance.now());
  endpoint.config = null;
  attempts.begin(endpoint);
}

/**
 * Other workers make the deliveries that wait here. Attempts in progress still end here, and are recorded
 * unless another worker was faster.
 */
function onFenced(context: DispatcherContext): void {
  context.state = afterHolding(context.state, -removeWaiting(context).length);
  context.finder.onRetries();
}

function onAlive(context: DispatcherContext): void {
  for (const endpoint of context.endpoints.all.values()) context.attempts.begin(endpoint);
  wantClaim(context);
}

function onResult(context: DispatcherContext, endpoint: Endpoint, result: AttemptResult): void {
  const { deps } = context;
  context.state = afterHolding(context.state, -1);
  if (result.statusCode === 410) disableGone(context, endpoint, result);
  else record(context, endpoint, result);
  const desires = () =>
    desiredOf(endpoint, { clockMs: deps.clock.now().getTime(), monotonicMs: performance.now() }) !== null;
  if (wantsClaim(context.state, endpoint.companyId, desires)) wantClaim(context);
}

function record({ recorder, finder }: DispatcherContext, endpoint: Endpoint, result: AttemptResult): void {
  recorder.add(result);
  const retryAtMs = result.nextAttemptAt?.getTime();
  if (retryAtMs === undefined) return;
  if (endpoint.retryAtMs === null || retryAtMs < endpoint.retryAtMs) endpoint.retryAtMs = retryAtMs;
  finder.onRetryAt(retryAtMs);
}

/**
 * Until the webhook is recorded as disabled, a claim would still see it as enabled; the deliveries of such a
 * claim are released. One that was changed meanwhile gets this delivery again, as it is now.
 */
function disableGone(context: DispatcherContext, endpoint: Endpoint, result: AttemptResult): void {
  const { deps, disablings } = context;
  endpoint.changedAtMs = Number.POSITIVE_INFINITY;
  const { webhookId } = endpoint;
  const { webhookVersion, webhookUrl, endedAt } = result;
  const gone = { webhookId, webhookVersion, webhookUrl, at: endedAt };
  const disabling = disableWhenUp(context, gone)
    .then(({ hasChanged }) => (hasChanged ? { ...result, nextAttemptAt: endedAt } : result))
    .catch((err) => {
      deps.log.warn({ err }, 'disabling a webhook failed');
      return result;
    })
    .then((known) => {
      endpoint.changedAtMs = performance.now();
      record(context, endpoint, known);
    })
    .finally(() => disablings.delete(disabling));
  disablings.add(disabling);
}

/** While the database is away the result can't be recorded either: both wait for it. */
async function disableWhenUp(
  context: DispatcherContext,
  gone: Parameters<typeof disableGoneWebhook>[1],
): ReturnType<typeof disableGoneWebhook> {
  for (;;) {
    try {
      return await disableGoneWebhook(context.deps.db, gone);
    } catch (err) {
      if (context.isStopping || !isUnavailable(err)) throw err;
      await delay(DISABLE_RETRY_MS);
    }
  }
}

function removeWaiting({ endpoints }: DispatcherContext): HeldDelivery[] {
  return [...endpoints.all.values()].flatMap(takeAll);
}
