import { setTimeout as delay } from 'node:timers/promises';
import type {
  DeliveryReservation,
  DirectDelivery,
  WrittenDelivery,
} from '@posthorn/core/events/direct-delivery.ts';
import { releaseWritten } from './claim-deliveries.ts';
import { afterHandOver, afterHolding, afterReserving } from './claim-state.ts';
import { budgetNow, hold, leaseFrom, wantClaim } from './claim-work.ts';
import {
  type DispatcherContext,
  endpointOf,
  isStillOurs,
  newLease,
  release,
  workerId,
} from './dispatcher-context.ts';
import { noteNew, noteTaken, roomOf } from './endpoint-room.ts';
import { desiredOf, type Endpoint } from './endpoints.ts';
import { FULL_SHARE } from './share-out.ts';

/** A commit whose answer was lost may still take effect for about this long. */
const LATE_COMMIT_MS = 5_000;
const RELEASE_RETRY_MS = 500;

/** Reserves room at idle endpoints for the events this process writes. */
export function createDirectDelivery(context: DispatcherContext): DirectDelivery {
  return {
    reserve(events) {
      if (context.isStopping) return null;
      const startedAtMs = performance.now();
      const given = giveRoom(context, countByCompany(events), startedAtMs);
      return makeReservation(context, given, {
        startedAtMs,
        eventIds: () => events.map(({ eventId }) => eventId),
      });
    },
    ownNotification: context.ownNotification,
  };
}

function countByCompany(events: readonly { companyId: number }[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { companyId } of events) counts.set(companyId, (counts.get(companyId) ?? 0) + 1);
  return counts;
}

/** The result of sharing room among the endpoints of the companies being written to. */
interface GivenRoom {
  /** Endpoints that can take a delivery of each of their company's events, and the number of those. */
  reserved: Map<Endpoint, number>;
  /** All other endpoints. */
  passedOver: Endpoint[];
}

/** Endpoints of a company with a claim in progress or a cooldown get no room: older deliveries come first. */
function giveRoom(context: DispatcherContext, counts: ReadonlyMap<number, number>, nowMs: number): GivenRoom {
  const { endpoints, state } = context;
  const given: GivenRoom = { reserved: new Map(), passedOver: [] };
  let left = budgetNow(context, nowMs)?.all ?? 0;
  for (const [companyId, count] of counts) {
    let share = endpoints.areShared() ? Math.min(left, FULL_SHARE) : left;
    if (state.asking.has(companyId)) share = 0;
    for (const endpoint of endpoints.ofCompany(companyId)) {
      if (count > share || roomOf(endpoint, nowMs) < count) given.passedOver.push(endpoint);
      else {
        given.reserved.set(endpoint, count);
        share -= count;
        left -= count;
      }
    }
  }
  return given;
}

function makeReservation(
  context: DispatcherContext,
  { reserved, passedOver }: GivenRoom,
  of: { startedAtMs: number; eventIds: () => string[] },
): DeliveryReservation {
  const claimedBy = workerId(context);
  const { until: leasedUntil } = newLease(context);
  const expected = [...reserved.values()].reduce((sum, count) => sum + count, 0);
  context.state = afterReserving(context.state, expected);
  for (const [endpoint, count] of reserved) endpoint.reserved += count;
  for (const endpoint of passedOver) endpoint.passedOver += 1;

  function settle(): void {
    context.state = afterReserving(context.state, -expected);
    for (const [endpoint, count] of reserved) endpoint.reserved -= count;
    for (const endpoint of passedOver) endpoint.passedOver -= 1;
  }

  return {
    webhookIds: [...reserved.keys()].map(({ webhookId }) => webhookId),
    claimedBy,
    leasedUntil,
    take({ claimed, unclaimed }) {
      settle();
      // Immediately, not on the notification: the next deliveries written must not overtake these.
      for (const { webhookId, companyId } of unclaimed) noteNew(context.endpoints.get(webhookId, companyId));
      take(context, claimed, { startedAtMs: of.startedAtMs, claimedBy });
      if (unclaimed.length > 0) wantClaim(context);
      else if (claimed.length < expected) claimWithRoom(context, reserved);
    },
    withdraw() {
      settle();
      claimWithRoom(context, reserved);
      if (reserved.size > 0) freeLater(context, of.eventIds(), { until: leasedUntil, worker: claimedBy });
    },
  };
}

function take(
  context: DispatcherContext,
  deliveries: readonly WrittenDelivery[],
  { startedAtMs, claimedBy }: { startedAtMs: number; claimedBy: number | null },
): void {
  const { deps, finder, handOvers } = context;
  const lease = leaseFrom(context, startedAtMs, claimedBy);
  const held = deliveries
    .map((delivery) => ({ ...delivery, attempts: 0, isEarly: false, ...lease }))
    .filter((delivery) => isStillOurs(context, delivery));
  if (held.length === 0) return;
  const nowMs = performance.now();
  for (const { id, webhookId } of held) {
    finder.sawId(id);
    noteTaken(endpointOf(context, webhookId), id, nowMs);
  }
  context.state = afterHandOver(context.state, nowMs);
  if (context.isStopping) {
    context.state = afterHolding(context.state, held.length);
    release(context, held);
    return;
  }
  const handOver = hold(context, held, startedAtMs)
    .catch((err) => deps.log.warn({ err }, 'reading webhooks failed, released their deliveries'))
    .finally(() => handOvers.delete(handOver));
  handOvers.add(handOver);
}

/** Room became free: claims the deliveries that lacked it. */
function claimWithRoom(context: DispatcherContext, reserved: ReadonlyMap<Endpoint, number>): void {
  const now = { clockMs: context.deps.clock.now().getTime(), monotonicMs: performance.now() };
  const isStarved = context.state.starvedAt !== null;
  if (isStarved || [...reserved.keys()].some((endpoint) => desiredOf(endpoint, now) !== null))
    wantClaim(context);
}

/**
 * It is unknown whether the deliveries exist; if they do, they are claimed, and without this their lease
 * would have to end first.
 */
function freeLater(
  context: DispatcherContext,
  eventIds: string[],
  lease: { until: Date; worker: number | null },
): void {
  const { deps } = context;
  const untilMs = performance.now() + context.leaseMs;
  /** False: they do not exist, or not yet. */
  async function free(): Promise<boolean> {
    while (!context.isStopping && performance.now() < untilMs) {
      try {
        const areFree = await releaseWritten(deps.db, eventIds, lease);
        if (areFree) context.finder.onRetries();
        return areFree;
      } catch {
        await delay(RELEASE_RETRY_MS, undefined, { ref: false });
      }
    }
    return true;
  }
  // Nobody waits for this: when this worker ends, its claims are free.
  void free().then(async (areFree) => {
    if (areFree) return;
    await delay(LATE_COMMIT_MS, undefined, { ref: false });
    await free();
  });
}
