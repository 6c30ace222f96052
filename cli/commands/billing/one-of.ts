import { UsageError } from '../../fault.ts';

/** One of the words that a flag takes; a wrong one is told before anything is asked. */
export function oneOf<T extends string>(name: string, words: readonly T[], given: string): T;
export function oneOf<T extends string>(
  name: string,
  words: readonly T[],
  given: string | undefined,
): T | undefined;
export function oneOf<T extends string>(
  name: string,
  words: readonly T[],
  given: string | undefined,
): T | undefined {
  const found = words.find((word) => word === given);
  if (found !== undefined || given === undefined) return found;
  throw new UsageError(`${name} must be one of ${words.join(', ')}`);
}
