import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Outbound } from '@posthorn/core/platform/http/outbound-http.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import type { WorkCounts } from '../count-work.ts';
import type { createAttemptRecorder } from './attempt-recorder.ts';
import type { Attempts } from './attempts.ts';
import { releaseDeliveries } from './claim-deliveries.ts';
import { afterHolding, type ClaimState } from './claim-state.ts';
import type { createEndpoints, Endpoint, HeldDelivery } from './endpoints.ts';
import type { WorkFinder } from './find-work.ts';

export interface WebhookDispatcherDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  cipher: Cipher;
  outbound: Outbound;
  /** Absent: nobody listens. */
  trace?: Trace | undefined;
  /** Default: nobody counts. */
  counts?: WorkCounts;
  /** Without it, this worker's claims end by time alone. */
  pulse?: Pulse;
  /** In [0, 1); for the jitter of retries. */
  random?: () => number;
  /** Timeout of a whole attempt, including reading the body. Default 15 s (WHK-7). */
  timeoutMs?: number;
  /** Default 60 s; must outlast the wait for a slot plus an attempt. */
  leaseMs?: number;
}

/** State shared by the functions of one dispatcher. */
export interface DispatcherContext {
  deps: WebhookDispatcherDeps;
  leaseMs: number;
  timeoutMs: number;
  endpoints: ReturnType<typeof createEndpoints>;
  recorder: ReturnType<typeof createAttemptRecorder>;
  finder: WorkFinder;
  attempts: Attempts;
  state: ClaimState;
  /** End of the newest lease, ms of the clock. */
  lastLeaseMs: number;
  /** Leases of claims that may have been committed though their answers were lost: the next claims take what they hold. */
  lostLeases: Date[];
  claims: Set<Promise<void>>;
  /** Deliveries claimed as they were written that are not at their endpoints yet. */
  handOvers: Set<Promise<void>>;
  /** Marks notifications from this dispatcher about deliveries it already knows. */
  ownNotification: string;
  releases: Set<Promise<void>>;
  /** Webhooks being disabled after a 410; its result is recorded afterwards. */
  disablings: Set<Promise<void>>;
  isClaimDue: boolean;
  isStopping: boolean;
}

export function isAlive({ deps }: DispatcherContext): boolean {
  return deps.pulse?.isAlive() ?? true;
}

export function workerId({ deps }: DispatcherContext): number | null {
  return deps.pulse?.id() ?? null;
}

export function endpointOf({ endpoints }: DispatcherContext, webhookId: number): Endpoint {
  return endpoints.all.get(webhookId)!;
}

/** False if the delivery was claimed under a worker id we have lost since: it is free for others to claim. */
export function isStillOurs(context: DispatcherContext, { claimedBy }: HeldDelivery): boolean {
  return claimedBy === workerId(context);
}

/** The end of a lease that begins now. It names its claim: no other one of this process ends at the same ms. */
export function newLease(context: DispatcherContext): { now: Date; until: Date } {
  const now = context.deps.clock.now();
  context.lastLeaseMs = Math.max(now.getTime() + context.leaseMs, context.lastLeaseMs + 1);
  return { now, until: new Date(context.lastLeaseMs) };
}

export function release(context: DispatcherContext, deliveries: HeldDelivery[]): void {
  if (deliveries.length === 0) return;
  const { deps, releases } = context;
  context.state = afterHolding(context.state, -deliveries.length);
  // They come before the last claimed ones.
  for (const { webhookId, attempts } of deliveries) {
    const endpoint = endpointOf(context, webhookId);
    endpoint.freshFromId = 0;
    endpoint.aheadFromId = 0;
    if (attempts === 0) endpoint.hasReleased = true;
  }
  // Deliveries whose lease has ended may belong to another worker by now.
  const now = performance.now();
  const ours = deliveries.filter(
    (delivery) => delivery.leasedUntilMs > now && isStillOurs(context, delivery) && isAlive(context),
  );
  const released = releaseDeliveries(
    deps.db,
    ours.map((delivery) => delivery.id),
    workerId(context),
  )
    .catch((err) => deps.log.warn({ err }, 'releasing webhook deliveries failed, their leases will end'))
    .finally(() => releases.delete(released));
  releases.add(released);
}
