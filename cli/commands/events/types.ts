import type { EventPattern } from '@posthorn/sdk/index.ts';
import { list, type Param } from '../../command.ts';
import { EVENT_NAMES } from '../../event-names.ts';
import { UsageError } from '../../fault.ts';
import { didYouMean } from '../../similar.ts';

/**
 * Every pattern that matches an event: all, families (`message.*`), kinds (`*.received`), and the events themselves.
 */
const PATTERNS: readonly string[] = [
  '*',
  ...new Set(EVENT_NAMES.flatMap((name) => [`${name.split('.')[0]}.*`, `*.${name.split('.')[1]}`])),
  ...EVENT_NAMES,
];

/**
 * Names or patterns of events. A name that matches no event is refused, since the command would wait for it in silence.
 */
export function eventTypes(help: string): Param<EventPattern[]> {
  const names = list('types', help);
  return {
    ...names,
    parse(given) {
      const types = names.parse(given);
      const unknown = types.find((type) => !PATTERNS.includes(type));
      if (unknown === undefined) return types as EventPattern[];
      throw new UsageError(`no event is named ${unknown}${didYouMean(unknown, PATTERNS)}`);
    },
  };
}
