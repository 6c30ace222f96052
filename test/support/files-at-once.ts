import { availableParallelism } from 'node:os';

/**
 * The number of test files that run side by side: three on two cores, because tests wait as well as compute. With five, two
 * cores took longer for all of them, and each file took more than twice as long, so that promises with a deadline were not kept.
 */
export function filesAtOnce(): number {
  return Math.ceil(availableParallelism() * 1.5);
}
