import type { WireNumber } from './wire-types.ts';

/** Numbers of 64 bits come as objects. Null for none, and for what is no number. */
export function numberOf(value: WireNumber | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  const number = typeof value === 'object' ? value.toNumber() : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Unix seconds as a date; `now` where there are none. */
export function dateOfSeconds(seconds: WireNumber | null | undefined, now: Date): Date {
  const found = numberOf(seconds);
  return found === null || found <= 0 ? now : new Date(found * 1000);
}

/** The network's -1 is "without an end", for which we write 0. */
export function mutedUntil(end: WireNumber | null | undefined): number | null {
  const until = numberOf(end);
  if (until === null || until === 0) return null;
  return until < 0 ? 0 : until;
}
