import { type Lease, type LeaseLost, type Recorded, underLeases } from '../instances/lock-leases.ts';
import { createCoalescer } from '../platform/database/coalesce.ts';
import { isUnavailable } from '../platform/database/database-errors.ts';
import type { Db, Sql } from '../platform/database/db.ts';

interface Attempt {
  taskId: string;
  lease: Lease;
}

/** Durable notes of sends that may be at a network which would show a repeat twice. */
export interface Attempts {
  /**
   * Notes that a send begins. A task found with an attempt whose outcome was never recorded is not sent
   * again on such a network: it fails with `outcome_unknown`. Rejects when the send must
   * not begin: with LeaseLost when another worker owns the instance by now, and when the task is gone.
   */
  begin(attempt: Attempt): Promise<unknown>;
  /**
   * Whether the note may stand although the network does not have the task: `begin` or `end` rejected here under this lease,
   * and nothing was sent after it. False once the shard has had another owner, who may have sent it.
   */
  hasBegunInVain(attempt: Attempt): boolean;
  /** Takes the note back: the network said that it did not take the message. Rejects with LeaseLost. */
  end(attempt: Attempt): Promise<unknown>;
}

const MAX_BATCH = 64;

/** Sends of different chats begin side by side: their notes share transactions, and with them the waits for the disk. */
export function createAttempts(db: Db): Attempts {
  const begun = createNotes(db, BEGIN);
  const ended = createNotes(db, END);
  /** By task, the epoch of its lease. */
  const inVain = new Map<string, number>();
  /** A lost connection does not tell what was committed. */
  function push(notes: typeof begun, attempt: Attempt): Promise<boolean> {
    return notes.push(attempt).catch((err) => {
      if (isUnavailable(err)) inVain.set(attempt.taskId, attempt.lease.epoch);
      throw err;
    });
  }
  return {
    async begin(attempt) {
      const isThere = await push(begun, attempt);
      if (!isThere) throw new Error('the task was finished by another');
    },
    hasBegunInVain: ({ taskId, lease }) => inVain.get(taskId) === lease.epoch,
    async end(attempt) {
      await push(ended, attempt);
      inVain.delete(attempt.taskId);
    },
  };
}

/** Answers for each attempt whether its task was there. */
function createNotes(db: Db, text: string) {
  return createCoalescer<Attempt, boolean>({
    maxBatch: MAX_BATCH,
    sharedBy: ({ lease }) => lease.shard,
    async run(batch) {
      const { outcomes, result } = await underLeases(db, batch, {
        read: async () => undefined,
        work: (sql, current) => write(sql, text, current),
      });
      return outcomes.map((outcome: Recorded | LeaseLost, nth) =>
        outcome === 'recorded' ? (result?.has(batch[nth]!.taskId) ?? false) : outcome,
      );
    },
  });
}

async function write(sql: Sql, text: string, attempts: readonly Attempt[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql.query<{ task_id: string }>(text, [attempts.map(({ taskId }) => taskId)]);
  return new Set(rows.map((row) => row.task_id));
}

/** Locked by seq, as the relay marks what it has published: of two orders each could wait for the other. */
const HELD =
  'WITH held AS (SELECT task_id FROM outbox WHERE task_id = ANY ($1::uuid[]) ORDER BY seq FOR NO KEY UPDATE)';
const BEGIN = `${HELD}
UPDATE outbox SET attempts = attempts + 1 FROM held WHERE outbox.task_id = held.task_id RETURNING outbox.task_id`;
const END = `${HELD}
UPDATE outbox SET attempts = greatest(0, attempts - 1) FROM held WHERE outbox.task_id = held.task_id
RETURNING outbox.task_id`;
