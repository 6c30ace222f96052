import type { NewEvent } from '@posthorn/core/events/insert-events.ts';
import { type TellEvents, tellEvents } from '@posthorn/core/events/tell-events.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Transaction } from '@posthorn/core/platform/database/db.ts';
import { createOutbound, type Outbound } from '@posthorn/core/platform/http/outbound-http.ts';
import type { WebhookDispatcherDeps } from '@posthorn/worker/webhooks/dispatcher-context.ts';
import { newEvent } from '../events/support.ts';
import type { Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { createTestClock } from '../support/test-clock.ts';
import {
  emitEvents,
  logsOf,
  pendingOf,
  type Receiver,
  type SeededWebhook,
  seedWebhook,
  startDispatcher,
  startReceiver,
  type TestDispatcher,
} from './support.ts';

export const SOON_MS = 30_000;

/**
 * A dispatcher whose endpoint has answered before, and that learns of new events only through `direct`. Its clock does
 * not move, so that it does not scan by itself.
 */
export interface Warm {
  dispatcher: TestDispatcher;
  receiver: Receiver;
  webhook: SeededWebhook;
  /** Event ids in the order in which their attempts began. */
  begun: string[];
  event(more?: Partial<NewEvent>): NewEvent;
  /** Writes events as a recorder does; `meanwhile` runs after they are written and before they are committed. */
  tell(events: NewEvent[], meanwhile?: (client: Transaction) => Promise<unknown>): Promise<void>;
  commit(work: (client: Transaction, tell: TellEvents) => Promise<unknown>): Promise<void>;
  /** The channels of the notifications. */
  notified: string[];
  /** Resolves when nothing is left to be delivered. */
  isDone(): Promise<unknown>;
}

export async function startWarm(
  parts: Parts,
  t: { after(done: () => unknown): void },
  more: Partial<WebhookDispatcherDeps> & { answer?: Parameters<typeof startReceiver>[0] } = {},
): Promise<Warm> {
  const { answer, ...deps } = { clock: createTestClock(new Date()), ...more };
  const begun: string[] = [];
  const notified: string[] = [];
  const outbound = createOutbound({ allowPrivate: true, connectionsPerOrigin: 64 });
  const { companyId } = await seedCompany(parts.db);
  const dispatcher = await startDispatcher(parts, { outbound: watched(outbound, companyId, begun), ...deps });
  t.after(() => outbound.close());
  t.after(dispatcher.close);
  const receiver = await startReceiver(answer);
  t.after(receiver.close);
  const webhook = await seedWebhook(parts.db, companyId, receiver.url, { patterns: ['message.*'] });
  const { clock } = deps;
  const event = (and: Partial<NewEvent> = {}) => newEvent(companyId, { createdAt: clock.now(), ...and });
  await emitEvents(parts, companyId, 1, { createdAt: clock.now() });
  await waitFor(async () => (await logsOf(parts.db, webhook.id)).length === 1, SOON_MS);
  await waitFor(() => hasRoomToReserve(dispatcher, event(), webhook), SOON_MS, {
    what: 'nothing is under way',
  });
  begun.splice(0);
  receiver.received.splice(0);
  const bus = { hint: (channel: string) => void notified.push(channel) } as unknown as Bus;
  const commit: Warm['commit'] = (work) =>
    tellEvents({ bus, deliveries: dispatcher.direct }, async (tell) => {
      await parts.db.transaction((client) => work(client, tell));
    });
  return {
    dispatcher,
    receiver,
    webhook,
    begun,
    event,
    notified,
    commit,
    isDone: () => waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0, SOON_MS),
    tell: (events, meanwhile) =>
      commit(async (client, tell) => {
        await tell(client, events);
        await meanwhile?.(client);
      }),
  };
}

function hasRoomToReserve({ direct }: TestDispatcher, event: NewEvent, { id }: SeededWebhook): boolean {
  const reservation = direct.reserve([event]);
  reservation?.take({ claimed: [], unclaimed: [] });
  return reservation?.webhookIds.includes(id) ?? false;
}

/** Records the events of a company in the order of their attempts, not of their arrival. */
function watched(outbound: Outbound, companyId: number, begun: string[]): Outbound {
  return {
    ...outbound,
    to(url) {
      const dispatcher = outbound.to(url);
      return new Proxy(dispatcher, {
        get(target, name) {
          if (name !== 'dispatch') return Reflect.get(target, name);
          return (options: { body: Buffer }, handler: never) => {
            const event = JSON.parse(String(options.body));
            if (event.company_id === companyId) begun.push(event.event_id);
            return target.dispatch(options as never, handler);
          };
        },
      });
    },
  };
}

export function idsOf(events: readonly NewEvent[]): string[] {
  return events.map(({ eventId }) => eventId);
}
