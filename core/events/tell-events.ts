import type { Bus } from '../platform/bus.ts';
import type { Sql } from '../platform/db.ts';
import { insertEvents, type NewEvent } from './insert-events.ts';

/** Writes events in the transaction of what they tell. */
export type TellEvents = (sql: Sql, events: readonly NewEvent[]) => Promise<void>;

/**
 * Runs `commit`, which commits a change with its events, and then announces them: streams look at the log and the
 * webhook workers at what is due. A `commit` that rejects has told nothing.
 */
export async function tellEvents<T>(bus: Bus, commit: (tell: TellEvents) => Promise<T>): Promise<T> {
  const companyIds = new Set<number>();
  const result = await commit(async (sql, events) => {
    await insertEvents(sql, events);
    for (const { companyId } of events) companyIds.add(companyId);
  });
  announceEvents(bus, companyIds);
  return result;
}

/** Events of these companies were committed. */
export function announceEvents(bus: Bus, companyIds: ReadonlySet<number>): void {
  for (const companyId of companyIds) bus.notify('events', String(companyId));
  if (companyIds.size > 0) bus.notify('deliveries');
}
