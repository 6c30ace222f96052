import type { PresenceUpdate } from '@posthorn/network/facts.ts';
import type { ArrivalsDeps, ArrivalsScope } from './arrivals-context.ts';

/** Tells of presence as events. */
export function tellPresence(
  _deps: ArrivalsDeps,
  _scope: ArrivalsScope,
  _updates: readonly PresenceUpdate[],
): void {}
