import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from './send-task.ts';

/** The sends of one instance that the network has received and not yet answered, in sending order. */
export interface InFlight {
  readonly size: number;
  push(task: PendingTask, outcome: Promise<TaskOutcome>): void;
  /** Waits for the oldest send and removes it. Rejects if that send rejects. */
  next(): Promise<{ task: PendingTask; outcome: TaskOutcome }>;
  /** Resolves when the oldest send succeeds or fails; immediately if there is none. */
  settled(): Promise<void>;
  /** Waits until all sends have settled, then returns their tasks and drops the outcomes. */
  drop(): Promise<PendingTask[]>;
}

export function createInFlight(): InFlight {
  const sends: { task: PendingTask; outcome: Promise<TaskOutcome> }[] = [];
  return {
    get size() {
      return sends.length;
    },
    push(task, outcome) {
      // The rejection is handled by the caller of next(); until then, avoid an unhandled rejection.
      outcome.catch(() => undefined);
      sends.push({ task, outcome });
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
      return sends.splice(0).map(({ task }) => task);
    },
  };
}
