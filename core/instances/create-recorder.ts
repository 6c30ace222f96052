import { type TellDeps, type TellEvents, tellEvents } from '../events/tell-events.ts';
import { type Coalescer, createCoalescer } from '../platform/database/coalesce.ts';
import type { Db, Transaction } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { type Addresses, type Lease, type Recorded, underLease, underLeases } from './lock-leases.ts';

export interface RecorderDeps extends TellDeps {
  db: Db;
  clock: Clock;
}

/** The transaction that something is recorded in. */
export interface Recording {
  client: Transaction;
  now: Date;
  /** Writes the events of what is recorded; they are announced after the commit. */
  tell: (events: Parameters<TellEvents>[1]) => Promise<void>;
}

/**
 * Records what the session of an owned instance saw, under its lease, with the events that tell of it. Throws
 * LeaseLost: it was not recorded, so nobody may acknowledge it.
 */
export function recordUnderLease<T>(
  deps: RecorderDeps,
  lease: Lease,
  record: (recording: Recording) => Promise<T>,
  addresses?: Addresses,
): Promise<T> {
  const now = deps.clock.now();
  return tellEvents(deps, (tell) =>
    underLease(
      deps.db,
      lease,
      (client) => record({ client, now, tell: (events) => tell(client, events) }),
      addresses,
    ),
  );
}

/**
 * The same for what many sessions saw, many entries in one transaction. An entry whose lease has passed is
 * rejected with LeaseLost. Entries of one shard, or of one party of `sharedBy`, are recorded in the order of their pushes.
 */
export function createRecorder<In extends { lease: Lease }, Read = undefined>(
  deps: RecorderDeps,
  options: {
    maxBatch: number;
    /** As of the coalescer; absent: the shard. */
    sharedBy?: (entry: In) => string | number;
    /** Reads, of all entries, what `record` needs: in the same round trip as the leases. */
    read: (client: Transaction, entries: readonly In[]) => Promise<Read>;
    record: (recording: Recording, current: readonly In[], read: Read) => Promise<void>;
  },
): Coalescer<In, Recorded> {
  return createCoalescer<In, Recorded>({
    maxBatch: options.maxBatch,
    sharedBy: options.sharedBy ?? (({ lease }) => lease.shard),
    async run(batch) {
      const now = deps.clock.now();
      const { outcomes } = await tellEvents(deps, (tell) =>
        underLeases(deps.db, batch, {
          read: options.read,
          work: (client, current, read) =>
            options.record({ client, now, tell: (events) => tell(client, events) }, current, read),
        }),
      );
      return outcomes;
    },
  });
}
