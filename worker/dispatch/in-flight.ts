import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from './send-task.ts';

/** The sends of one instance that the network has received and not yet answered, in sending order. */
export interface InFlight {
  readonly size: number;
  /**
   * Whether a send of this session may follow those here. False once one of them has rejected, or if they were given
   * to another session: they are repeated first.
   */
  isOpenTo(session: NetworkSession | null): boolean;
  push(task: PendingTask, session: NetworkSession, outcome: Promise<TaskOutcome>): void;
  /** Waits for the oldest send and removes it. Rejects if that send rejects. */
  next(): Promise<{ task: PendingTask; outcome: TaskOutcome }>;
  /** Resolves when the oldest send succeeds or fails; immediately if there is none. */
  settled(): Promise<void>;
  /** Waits until all sends have settled, then returns their tasks and drops the outcomes. */
  drop(): Promise<PendingTask[]>;
}

export function createInFlight(): InFlight {
  const sends: { task: PendingTask; session: NetworkSession; outcome: Promise<TaskOutcome> }[] = [];
  let hasFailed = false;
  return {
    get size() {
      return sends.length;
    },
    isOpenTo: (session) => sends.length === 0 || (!hasFailed && sends.at(-1)!.session === session),
    push(task, session, outcome) {
      // The rejection is handled by the caller of next(); until then, avoid an unhandled rejection.
      outcome.catch(() => {
        hasFailed = true;
      });
      sends.push({ task, session, outcome });
    },
    async next() {
      const oldest = sends[0]!;
      const outcome = await oldest.outcome;
      sends.shift();
      return { task: oldest.task, outcome };
    },
    async settled() {
      await sends[0]?.outcome.catch(() => undefined);
    },
    async drop() {
      await Promise.allSettled(sends.map(({ outcome }) => outcome));
      hasFailed = false;
      return sends.splice(0).map(({ task }) => task);
    },
  };
}
