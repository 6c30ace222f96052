import { ADVISORY_LOCKS } from '../platform/database/advisory-locks.ts';
import type { Db, Sql, Transaction } from '../platform/database/db.ts';

/** Ownership of a shard: the epoch grows with every new owner. */
export interface Lease {
  shard: number;
  epoch: number;
  /** The owner before did not hand it over: it may have died of something that comes again. */
  afterCrash?: boolean;
  /** Set in the lease of one instance, which may leave the shard while the lease of the shard still holds. */
  hold?: Hold;
}

/** Whether an instance still belongs to the shard of its lease, and what is being written for it. */
export interface Hold {
  isOver(): boolean;
  /** Nothing is written under it from now on; resolves when what is being written has ended. */
  end(): Promise<void>;
  during<T>(writing: Promise<T>): Promise<T>;
}

/** The lease of a shard, for one of its instances. */
export function leaseOfInstance({ shard, epoch, afterCrash }: Lease): Lease & { hold: Hold } {
  return { shard, epoch, ...(afterCrash === undefined ? {} : { afterCrash }), hold: createHold() };
}

function createHold(): Hold {
  const writes = new Set<Promise<unknown>>();
  let isOver = false;
  return {
    isOver: () => isOver,
    async end() {
      isOver = true;
      await Promise.allSettled(writes);
    },
    during(writing) {
      writes.add(writing);
      const forget = () => writes.delete(writing);
      writing.then(forget, forget);
      return writing;
    },
  };
}

/**
 * The lease under which something was seen has passed, and nothing of it was written. A caller that gets this error
 * must not acknowledge what it wanted to record; the network repeats it to the new owner.
 */
export class LeaseLost extends Error {
  readonly lease: Lease;
  constructor(lease: Lease) {
    super(`shard ${lease.shard} is no longer owned under epoch ${lease.epoch}`);
    this.name = 'LeaseLost';
    this.lease = lease;
  }
}

/**
 * The answer of a recorder. A literal and not `void`, so that an `undefined` cannot pass for recorded.
 */
export type Recorded = 'recorded';

/**
 * Runs `work` in a transaction in which the lease holds until the commit: a new owner's epoch waits for it. Throws
 * {@link LeaseLost} when the lease has passed; nothing was written then.
 *
 * Everything that a session or an instance queue writes goes through here or through {@link underLeases}. There is no
 * other way to ask for leases, so no caller can drop the result.
 */
export async function underLease<T>(
  db: Db,
  lease: Lease,
  work: (client: Transaction) => Promise<T>,
  addresses?: Addresses,
): Promise<T> {
  const writing = db.transaction(async (client) => {
    const stands = await lockLeases(client, [lease], addresses);
    if (!stands(lease)) throw new LeaseLost(lease);
    return work(client);
  });
  return lease.hold ? lease.hold.during(writing) : writing;
}

/**
 * The same for entries of many leases in one transaction. `work` gets those whose lease holds; `outcomes` says of each
 * entry, in order, that it was recorded or that its lease was lost. `result` is null when none holds, and `work` was
 * not run.
 */
export async function underLeases<In extends { lease: Lease }, Read, T>(
  db: Db,
  entries: readonly In[],
  options: {
    /** Reads what `work` needs of all entries, in the same round trip as the leases. */
    read: (client: Transaction, entries: readonly In[]) => Promise<Read>;
    work: (client: Transaction, current: In[], read: Read) => Promise<T>;
  },
): Promise<{ outcomes: (Recorded | LeaseLost)[]; result: T | null }> {
  const writing = db.transaction(async (client) => {
    const leases = entries.map((entry) => entry.lease);
    const [stands, read] = await Promise.all([lockLeases(client, leases), options.read(client, entries)]);
    // Judged once: a hold may end at any time, and what is admitted here is waited for.
    const current = entries.filter((entry) => stands(entry.lease));
    const admitted = new Set(current);
    const result = current.length > 0 ? await options.work(client, current, read) : null;
    const outcomes = entries.map((entry) => (admitted.has(entry) ? 'recorded' : new LeaseLost(entry.lease)));
    return { outcomes, result };
  });
  for (const { lease } of entries) lease.hold?.during(writing).catch(() => undefined);
  return writing;
}

/**
 * Pairs of addresses lead data to its chat. A transaction that changes pairs waits for all that read them before, and holds
 * back all that come after: else data would be stored for a chat that has just moved.
 */
export type Addresses = 'read' | 'change';

/** Shards that share one lock of their addresses: few locks for a transaction of many shards. */
const SHARDS_TOGETHER = 16;

const lockSql = (addressLock: string) => `
SELECT shard, epoch, ${addressLock}(${ADVISORY_LOCKS.addresses}, shard / ${SHARDS_TOGETHER})
FROM shards WHERE shard = ANY ($1::smallint[]) ORDER BY shard FOR SHARE`;

const LOCK = {
  read: { name: 'shards-lock-leases', text: lockSql('pg_advisory_xact_lock_shared') },
  change: { name: 'shards-lock-leases-change', text: lockSql('pg_advisory_xact_lock') },
};

/** Keeps the pairs of the instance's addresses as they are until the transaction ends, while the API stores something for a chat. */
export async function holdAddresses(sql: Sql, instanceId: string): Promise<void> {
  await sql.query(
    `SELECT pg_advisory_xact_lock_shared(${ADVISORY_LOCKS.addresses}, shard / ${SHARDS_TOGETHER}) FROM instances WHERE id = $1`,
    [instanceId],
  );
}

/** Which of these leases stand. One worker may ask for a shard under two epochs, its present and a former one. */
async function lockLeases(
  sql: Sql,
  leases: readonly Lease[],
  addresses: Addresses = 'read',
): Promise<(lease: Lease) => boolean> {
  const shards = [...new Set(leases.map((lease) => lease.shard))];
  const held = await sql.query<{ shard: number; epoch: number }>({ ...LOCK[addresses], values: [shards] });
  const epochs = new Map(held.rows.map((row) => [row.shard, row.epoch]));
  return ({ shard, epoch, hold }) => epochs.get(shard) === epoch && hold?.isOver() !== true;
}
