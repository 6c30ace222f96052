import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import type { Outbound } from '@posthorn/core/platform/http/outbound-http.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
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
  /** Absent: its claims end by time alone. */
  pulse?: Pulse;
  /** In [0, 1); for the jitter of retries. */
  random?: () => number;
  /** For an attempt in all, body read included. Default 15 s (WHK-7). */
  timeoutMs?: number;
  /** Default 60 s; must outlast a wait for a slot and an attempt. */
  leaseMs?: number;
}

/** What the functions of one dispatcher share. */
export interface DispatcherContext {
  deps: WebhookDispatcherDeps;
  leaseMs: number;
  timeoutMs: number;
  endpoints: ReturnType<typeof createEndpoints>;
  recorder: ReturnType<typeof createAttemptRecorder>;
  finder: WorkFinder;
  attempts: Attempts;
  state: ClaimState;
  claims: Set<Promise<void>>;
  /** Deliveries that were claimed as they were written, on their way to their endpoints. */
  handOvers: Set<Promise<void>>;
  /** Names this dispatcher in notifications of what it knows by itself. */
  ownNotification: string;
  releases: Set<Promise<void>>;
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

/** Claimed under a name that was taken from us meanwhile: free again, and somebody else's to claim. */
export function isStillOurs(context: DispatcherContext, { claimedBy }: HeldDelivery): boolean {
  return claimedBy === workerId(context);
}

export function release(context: DispatcherContext, deliveries: HeldDelivery[]): void {
  if (deliveries.length === 0) return;
  const { deps, releases } = context;
  context.state = afterHolding(context.state, -deliveries.length);
  // They stand before what was claimed last.
  for (const { webhookId, attempts } of deliveries) {
    const endpoint = endpointOf(context, webhookId);
    endpoint.freshFromId = 0;
    if (attempts === 0) endpoint.hasReleased = true;
  }
  // Those whose lease is over may be another worker's by now.
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
