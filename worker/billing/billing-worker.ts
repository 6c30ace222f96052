import type { BillingWork } from '@posthorn/core/billing/billing-bus.ts';
import type { BillingDeps } from '@posthorn/core/billing/deps.ts';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import {
  publishEntitlementUpdates,
  requeueLostUpdates,
} from '@posthorn/core/billing/entitlements/publish-updates.ts';
import { undoDueIntents } from '@posthorn/core/billing/provider/provider-intents.ts';
import { passTime } from '@posthorn/core/billing/provider/simulated/pass-time.ts';
import { sendNextWebhook } from '@posthorn/core/billing/provider/simulated/send-webhooks.ts';
import { listDueEvents, processEvent } from '@posthorn/core/billing/provider-events/process-event.ts';
import { purgeCompanies } from '@posthorn/core/billing/purge-companies.ts';
import { removeOldRecords } from '@posthorn/core/billing/remove-old-records.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import { cancelDeleted } from '@posthorn/core/billing/subscriptions/cancel-deleted.ts';
import { moveByClock } from '@posthorn/core/billing/subscriptions/move-by-clock.ts';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '@posthorn/core/platform/durations.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';

export interface BillingWorkerDeps extends BillingDeps {
  bus: Bus;
  broker: Broker;
  /** Target URL of the simulated provider's webhooks; without it they are not sent. */
  ingestionUrl: string | undefined;
  webhookSecret: string;
  /** How long events of the provider are kept after they were processed. */
  eventRetentionDays: number;
  pulse?: Pulse;
  countPaymentAfterEnd?: () => void;
}

export interface BillingWorker {
  stop(): Promise<void>;
}

/** Notifications can be lost, so every kind of work is also polled. */
const LOOK_EVERY_MS = 1_000;

const EVENTS_AT_ONCE = 20;

/**
 * Runs all billing work that no request triggers: provider events, calls to the provider, half-done
 * creations, time-based changes, and entitlement updates for messaging. Each kind has its own loop, so a
 * provider that does not answer blocks only the work that needs it. Any number of processes may run this:
 * rows are claimed.
 */
export async function startBillingWorker(deps: BillingWorkerDeps): Promise<BillingWorker> {
  await deps.broker.declare([ENTITLEMENT_UPDATES_QUEUE]);
  const loop = (name: string, round: (stopping: AbortSignal) => Promise<boolean>, everyMs = LOOK_EVERY_MS) =>
    startLoop({
      everyMs,
      run: round,
      // The work is still in the database.
      onError: (err) => deps.log.warn({ err, loop: `billing ${name}` }, 'a billing round failed, retrying'),
    });
  const loops: Partial<Record<BillingWork | 'deleted' | 'lost' | 'purge' | 'retention' | 'time', Loop>> = {
    events: loop('events', () => processDueEvents(deps)),
    tasks: loop('tasks', () => runDueTask(deps)),
    intents: loop('intents', async () => (await undoDueIntents(deps)) > 0),
    moves: loop('moves', async () => (await moveByClock(deps)) > 0),
    news: loop('news', async () => (await publishEntitlementUpdates(deps)) > 0),
    deleted: loop('deleted', async () => (await cancelDeleted(deps)) > 0, MINUTE_MS),
    // Never repeated immediately: queued updates need a moment to arrive.
    lost: loop('lost', () => requeueLostUpdates(deps).then(() => false), 5 * MINUTE_MS),
    purge: loop('purge', async () => (await purgeCompanies(deps)) > 0, HOUR_MS),
    retention: loop('retention', (signal) => removeOld(deps, signal), DAY_MS),
    ...simulatedLoops(deps, loop),
  };
  deps.bus.on('billing', (work) => {
    loops[work as BillingWork]?.wake();
    // The 'webhooks' notification also reports a moved clock, which makes dues expire.
    if (work === 'webhooks') loops.time?.wake();
  });
  deps.bus.onReset((up) => {
    if (up) for (const each of Object.values(loops)) each.wake();
  });
  return {
    async stop() {
      await Promise.all(Object.values(loops).map((each) => each.stop()));
    },
  };
}

function simulatedLoops(
  deps: BillingWorkerDeps,
  loop: (name: string, round: () => Promise<boolean>, everyMs?: number) => Loop,
): { webhooks?: Loop; time?: Loop } {
  const { ingestionUrl: url } = deps;
  if (deps.provider.name !== 'simulated' || url === undefined) return {};
  return {
    webhooks: loop('webhooks', () => sendNextWebhook({ ...deps, url, secret: deps.webhookSecret })),
    time: loop('time', async () => (await passTime(deps)) > 0, MINUTE_MS),
  };
}

async function removeOld(deps: BillingWorkerDeps, signal: AbortSignal): Promise<boolean> {
  try {
    await removeOldRecords(deps, { retentionDays: deps.eventRetentionDays, signal });
  } catch (err) {
    if (!signal.aborted) throw err;
  }
  return false;
}

/** Processes a batch, each event in its own transaction; events of one company take turns at its row. */
async function processDueEvents(deps: BillingWorkerDeps): Promise<boolean> {
  const ids = await listDueEvents(deps, EVENTS_AT_ONCE);
  let processed = 0;
  for (const id of ids) if (await processEvent(deps, id)) processed += 1;
  return processed > 0;
}
