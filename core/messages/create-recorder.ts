import { holdLeases, type Lease } from '../instances/hold-leases.ts';
import type { Bus } from '../platform/bus.ts';
import type { Clock } from '../platform/clock.ts';
import { type Coalescer, createCoalescer } from '../platform/coalesce.ts';
import type { Client, Db } from '../platform/db.ts';

/**
 * Records what sessions of owned instances saw, many in one transaction: holds their leases first, drops
 * what a worker saw that has lost its shard, and afterwards hints at the events that `record` wrote, which
 * says of which companies they are. The order of pushes is the order in which they are recorded.
 */
export function createRecorder<In extends { lease: Lease }>(
  deps: { db: Db; bus: Bus; clock: Clock },
  options: {
    maxBatch: number;
    record: (client: Client, current: readonly In[], now: Date) => Promise<Set<number>>;
  },
): Coalescer<In, void> {
  return createCoalescer<In, void>({
    maxBatch: options.maxBatch,
    async run(batch) {
      const now = deps.clock.now();
      const companies = await deps.db.transaction(async (client) => {
        const held = await holdLeases(
          client,
          batch.map((seen) => seen.lease),
        );
        const current = batch.filter((seen) => held.has(seen.lease.shard));
        return current.length > 0 ? options.record(client, current, now) : new Set<number>();
      });
      for (const company of companies) deps.bus.notify('events', String(company));
      if (companies.size > 0) deps.bus.notify('deliveries');
      return batch.map(() => undefined);
    },
  });
}
