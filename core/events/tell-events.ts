import type { Bus } from '../platform/bus.ts';
import { isTransaction, type Sql } from '../platform/db.ts';
import type { DeliveryOffer, DirectDelivery, WrittenDeliveries } from './direct-delivery.ts';
import { insertEvents, insertOffered, type NewEvent } from './insert-events.ts';

/** Writes events in the transaction of what they tell. */
export type TellEvents = (sql: Sql, events: readonly NewEvent[]) => Promise<void>;

export interface TellDeps {
  bus: Bus;
  /** Absent: deliveries are found and claimed by whoever makes them. */
  deliveries?: DirectDelivery | undefined;
}

/** An offer of the deliverer's that a statement made use of. */
interface UsedOffer {
  offer: DeliveryOffer;
  /** To be asked after the commit. */
  written: () => Promise<WrittenDeliveries>;
}

/**
 * Runs `commit`, which commits a change with its events, and then announces them: streams look at the log and the
 * webhook workers at what is due, unless all of it was claimed as it was written. A `commit` that rejects has told
 * nothing.
 */
export async function tellEvents<T>(
  { bus, deliveries }: TellDeps,
  commit: (tell: TellEvents) => Promise<T>,
): Promise<T> {
  const companyIds = new Set<number>();
  const used: UsedOffer[] = [];
  let isUnclaimed = false;
  const result = await commit(async (sql, events) => {
    if (events.length === 0) return;
    for (const { companyId } of events) companyIds.add(companyId);
    const offer = isTransaction(sql) ? deliveries?.offer(events) : null;
    if (offer && isTransaction(sql)) {
      const use: UsedOffer = { offer, written: notWritten };
      used.push(use);
      use.written = (await insertOffered(sql, events, offer)).written;
    } else {
      isUnclaimed = true;
      await insertEvents(sql, events);
    }
  }).catch((err) => {
    for (const { offer } of used) offer.withdraw();
    throw err;
  });
  for (const use of used) if (await takeWritten(use)) isUnclaimed = true;
  announceLog(bus, companyIds);
  if (isUnclaimed) bus.notify('deliveries');
  return result;
}

async function notWritten(): Promise<WrittenDeliveries> {
  throw new Error('the statement that writes these events has failed');
}

/** True: there are deliveries that nobody has claimed. */
async function takeWritten({ offer, written }: UsedOffer): Promise<boolean> {
  const known = await written().catch(() => null);
  // It is committed, and that must not be taken back by what is unknown of it.
  if (known) offer.take(known);
  else offer.withdraw();
  return known === null || known.unclaimed.length > 0;
}

/** Events of these companies were committed, and nobody has claimed what is to be delivered of them. */
export function announceEvents(bus: Bus, companyIds: ReadonlySet<number>): void {
  announceLog(bus, companyIds);
  if (companyIds.size > 0) bus.notify('deliveries');
}

function announceLog(bus: Bus, companyIds: ReadonlySet<number>): void {
  for (const companyId of companyIds) bus.notify('events', String(companyId));
}
