import type { WireNumber } from './wire-types.ts';

/** 64-bit numbers arrive as objects. Null for none, and for an invalid one. */
export function numberOf(value: WireNumber | null | undefined): number | null {
  if (value === null || value === undefined) return null;
  const number = typeof value === 'object' ? value.toNumber() : Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Unix seconds as a date; `now` if there are none. */
export function dateOfSeconds(seconds: WireNumber | null | undefined, now: Date): Date {
  const found = numberOf(seconds);
  return found === null || found <= 0 ? now : new Date(found * 1000);
}

/** The network writes -1 for "no end", we write 0. */
export function mutedUntil(end: WireNumber | null | undefined): number | null {
  const until = numberOf(end);
  if (until === null || until === 0) return null;
  return until < 0 ? 0 : until;
}
