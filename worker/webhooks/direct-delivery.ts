import { setTimeout as delay } from 'node:timers/promises';
import type {
  DeliveryOffer,
  DirectDelivery,
  WrittenDelivery,
} from '@posthorn/core/events/direct-delivery.ts';
import { releaseWritten } from '@posthorn/core/webhooks/delivery/claim-deliveries.ts';
import { afterHolding, afterOffer, afterTaking } from './claim-state.ts';
import { budgetNow, hold, leaseFrom } from './claim-work.ts';
import { type DispatcherContext, isStillOurs, release, workerId } from './dispatcher-context.ts';
import { type Endpoint, FULL_SHARE, ID_MARGIN, roomOf } from './endpoints.ts';

/** A commit whose answer was lost may still be on its way, for about this long. */
const LATE_COMMIT_MS = 5_000;
const RELEASE_RETRY_MS = 500;

/** Offers the room of idle endpoints to the events that this process writes. */
export function createDirectDelivery(context: DispatcherContext): DirectDelivery {
  return {
    offer(events) {
      if (context.isStopping) return null;
      const startedAtMs = performance.now();
      const endpoints = roomFor(context, countByCompany(events), startedAtMs);
      if (endpoints.size === 0) return null;
      return makeOffer(context, endpoints, {
        startedAtMs,
        eventIds: () => events.map(({ eventId }) => eventId),
      });
    },
  };
}

function countByCompany(events: readonly { companyId: number }[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { companyId } of events) counts.set(companyId, (counts.get(companyId) ?? 0) + 1);
  return counts;
}

/**
 * The endpoints that can take a delivery of each event of their company, and how many that makes. Of a company that a
 * claim is under way for, or that cools down after one, none: what is older comes first.
 */
function roomFor(
  context: DispatcherContext,
  counts: ReadonlyMap<number, number>,
  nowMs: number,
): Map<Endpoint, number> {
  const found = new Map<Endpoint, number>();
  let left = budgetNow(context, nowMs)?.all ?? 0;
  for (const [companyId, count] of counts) {
    if (context.state.asking.has(companyId)) continue;
    if (context.endpoints.areShared() && count > FULL_SHARE) continue;
    for (const endpoint of context.endpoints.ofCompany(companyId)) {
      if (count > left) break;
      if (roomOf(endpoint, nowMs) < count) continue;
      found.set(endpoint, count);
      left -= count;
    }
  }
  return found;
}

function makeOffer(
  context: DispatcherContext,
  endpoints: ReadonlyMap<Endpoint, number>,
  of: { startedAtMs: number; eventIds: () => string[] },
): DeliveryOffer {
  const { deps, leaseMs } = context;
  const claimedBy = workerId(context);
  const expected = [...endpoints.values()].reduce((sum, count) => sum + count, 0);
  context.state = afterOffer(context.state, expected);
  for (const [endpoint, count] of endpoints) endpoint.offered += count;

  function settle(): void {
    context.state = afterOffer(context.state, -expected);
    for (const [endpoint, count] of endpoints) endpoint.offered -= count;
  }

  return {
    webhookIds: [...endpoints.keys()].map(({ webhookId }) => webhookId),
    claimedBy,
    leasedUntil: new Date(deps.clock.now().getTime() + leaseMs),
    take(deliveries) {
      settle();
      take(context, deliveries, { startedAtMs: of.startedAtMs, claimedBy });
    },
    withdraw() {
      settle();
      freeLater(context, of.eventIds(), claimedBy);
    },
  };
}

function take(
  context: DispatcherContext,
  deliveries: readonly WrittenDelivery[],
  { startedAtMs, claimedBy }: { startedAtMs: number; claimedBy: number | null },
): void {
  const { deps, endpoints, finder } = context;
  const lease = leaseFrom(context, startedAtMs, claimedBy);
  const held = deliveries
    .map((delivery) => ({ ...delivery, attempts: 0, ...lease }))
    .filter((delivery) => isStillOurs(context, delivery));
  if (held.length === 0) return;
  const nowMs = performance.now();
  for (const { id, webhookId } of held) {
    finder.sawId(id);
    const endpoint = endpoints.all.get(webhookId)!;
    endpoint.activeAtMs = nowMs;
    endpoint.freshFromId = Math.max(0, id - ID_MARGIN);
  }
  context.state = afterTaking(context.state, nowMs);
  if (context.isStopping) {
    context.state = afterHolding(context.state, held.length);
    release(context, held);
    return;
  }
  hold(context, held, startedAtMs).catch((err) =>
    deps.log.warn({ err }, 'reading webhooks failed, their deliveries were released'),
  );
}

/** Nobody knows whether they are there, and claimed: without this their lease would have to end first. */
function freeLater(context: DispatcherContext, eventIds: string[], claimedBy: number | null): void {
  const { deps } = context;
  const untilMs = performance.now() + context.leaseMs;
  async function free(): Promise<void> {
    while (!context.isStopping && performance.now() < untilMs) {
      try {
        if (await releaseWritten(deps.db, eventIds, claimedBy)) context.finder.onRetries();
        return;
      } catch {
        await delay(RELEASE_RETRY_MS, undefined, { ref: false });
      }
    }
  }
  // Nobody waits for it: when this worker ends, its claims are free.
  void free()
    .then(() => delay(LATE_COMMIT_MS, undefined, { ref: false }))
    .then(free);
}
