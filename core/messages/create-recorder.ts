import { type Lease, type Recorded, underLeases } from '../instances/hold-leases.ts';
import type { Bus } from '../platform/bus.ts';
import type { Clock } from '../platform/clock.ts';
import { type Coalescer, createCoalescer } from '../platform/coalesce.ts';
import type { Client, Db } from '../platform/db.ts';

/**
 * Records what sessions of owned instances saw, many in one transaction, under their leases, and afterwards
 * hints at the events that `record` wrote, which says of which companies they are. An entry whose lease has
 * passed is rejected with LeaseLost: it was not recorded, so nobody may acknowledge it. The order of pushes
 * is the order in which they are recorded.
 */
export function createRecorder<In extends { lease: Lease }>(
  deps: { db: Db; bus: Bus; clock: Clock },
  options: {
    maxBatch: number;
    record: (client: Client, current: readonly In[], now: Date) => Promise<Set<number>>;
  },
): Coalescer<In, Recorded> {
  return createCoalescer<In, Recorded>({
    maxBatch: options.maxBatch,
    async run(batch) {
      const now = deps.clock.now();
      const { outcomes, result } = await underLeases(deps.db, batch, (client, current) =>
        options.record(client, current, now),
      );
      const companies = result ?? new Set<number>();
      for (const company of companies) deps.bus.notify('events', String(company));
      if (companies.size > 0) deps.bus.notify('deliveries');
      return outcomes;
    },
  });
}
