import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from './send-task.ts';

/** Sends of one instance that the network has got and not answered, in the order in which it got them. */
export interface InFlight {
  readonly size: number;
  push(task: PendingTask, outcome: Promise<TaskOutcome>): void;
  /** Waits for the oldest and takes it out. Rejects as its send does. */
  next(): Promise<{ task: PendingTask; outcome: TaskOutcome }>;
  /** Resolves when the oldest has its outcome or has failed; at once when there is none. */
  settled(): Promise<void>;
  /** Resolves, with what was in flight, when nothing is any more; their outcomes are dropped. */
  drop(): Promise<PendingTask[]>;
}

export function createInFlight(): InFlight {
  const sends: { task: PendingTask; outcome: Promise<TaskOutcome> }[] = [];
  return {
    get size() {
      return sends.length;
    },
    push(task, outcome) {
      // Whoever waits for it hears of it; until then it is nobody's.
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
