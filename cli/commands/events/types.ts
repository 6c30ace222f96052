import type { EventPattern } from '@posthorn/sdk/index.ts';
import { EVENT_NAMES } from '../../event-names.ts';
import { UsageError } from '../../fault.ts';
import { didYouMean } from '../../similar.ts';

/** Every pattern that names something: all, families (`message.*`), kinds (`*.received`), and the events themselves. */
export const EVENT_PATTERNS: readonly string[] = [
  '*',
  ...new Set(EVENT_NAMES.flatMap((name) => [`${name.split('.')[0]}.*`, `*.${name.split('.')[1]}`])),
  ...EVENT_NAMES,
];

/** UsageError for a pattern that no event fits: it would wait in silence. */
export function checkTypes(types: readonly string[]): asserts types is EventPattern[] {
  const unknown = types.find((type) => !EVENT_PATTERNS.includes(type));
  if (unknown === undefined) return;
  throw new UsageError(`no event is named ${unknown}${didYouMean(unknown, EVENT_PATTERNS)}`);
}
