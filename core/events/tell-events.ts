import type { Bus } from '../platform/broker/bus.ts';
import { isTransaction, type Sql } from '../platform/database/db.ts';
import type { DeliveryReservation, DirectDelivery, WrittenDeliveries } from './direct-delivery.ts';
import { insertAndClaim, insertEvents, type NewEvent } from './insert-events.ts';

/** Writes events in the transaction of what they tell. */
export type TellEvents = (sql: Sql, events: readonly NewEvent[]) => Promise<void>;

export interface TellDeps {
  bus: Bus;
  /** Absent: deliveries are found and claimed by whoever makes them. */
  deliveries?: DirectDelivery | undefined;
}

/** A reservation that a statement used. */
interface UsedReservation {
  reservation: DeliveryReservation;
  /** To be asked after the commit. */
  written: () => Promise<WrittenDeliveries>;
}

/** Deliveries that nobody has claimed; `known`: the deliverer of this process was told for whom. */
type Unclaimed = 'none' | 'known' | 'unknown';

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
  const used: UsedReservation[] = [];
  let unclaimed: Unclaimed = 'none';
  const result = await commit(async (sql, events) => {
    if (events.length === 0) return;
    for (const { companyId } of events) companyIds.add(companyId);
    const reservation = isTransaction(sql) ? deliveries?.reserve(events) : null;
    if (reservation && isTransaction(sql)) {
      const use: UsedReservation = { reservation, written: notWritten };
      used.push(use);
      use.written = (await insertAndClaim(sql, events, reservation)).written;
    } else {
      unclaimed = 'unknown';
      await insertEvents(sql, events);
    }
  }).catch((err) => {
    for (const { reservation } of used) reservation.withdraw();
    throw err;
  });
  for (const use of used) unclaimed = worseOf(unclaimed, await takeWritten(use));
  announceLog(bus, companyIds);
  if (unclaimed !== 'none')
    bus.hint('deliveries', unclaimed === 'known' ? deliveries?.ownNotification : undefined);
  return result;
}

async function notWritten(): Promise<WrittenDeliveries> {
  throw new Error('the statement that writes these events has failed');
}

async function takeWritten({ reservation, written }: UsedReservation): Promise<Unclaimed> {
  const known = await written().catch(() => null);
  // A failed read must not undo the commit.
  if (known) reservation.take(known);
  else reservation.withdraw();
  if (known === null) return 'unknown';
  return known.unclaimed.length > 0 ? 'known' : 'none';
}

function worseOf(one: Unclaimed, other: Unclaimed): Unclaimed {
  if (one === 'none') return other;
  return other === 'unknown' ? other : one;
}

/** Events of these companies were committed, and nobody has claimed what is to be delivered of them. */
export function announceEvents(bus: Bus, companyIds: ReadonlySet<number>): void {
  announceLog(bus, companyIds);
  if (companyIds.size > 0) bus.hint('deliveries');
}

function announceLog(bus: Bus, companyIds: ReadonlySet<number>): void {
  for (const companyId of companyIds) bus.hint('events', String(companyId));
}
