import type { NetworkActions } from '../network/actions.ts';

/** Every question that the owner of an instance answers: those of the network, and its own. Keys are wire names. */
export interface OwnerCalls extends NetworkActions {
  /** Cancels tasks that wait in the queue: those of these ids, else all. Answered without the network. */
  cancel: {
    args: { task_ids?: readonly string[] };
    answer: CancelAnswer;
  };
}
export type OwnerCall = keyof OwnerCalls;

/** The outcomes of the tasks, by their ids. */
export interface CancelAnswer {
  cancelled: string[];
  /** Being sent at this moment, or sent already: they go on. */
  under_way: string[];
}
