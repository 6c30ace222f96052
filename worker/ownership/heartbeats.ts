/**
 * Rules on what a worker's own heartbeats prove. They send nothing and read no clock: the caller passes the
 * time.
 */

/**
 * A heartbeat proves its sender alive for this long, counted from before it was sent. Well below the time
 * after which others declare the sender dead (FROZEN_AFTER_MS), which they count from its arrival.
 */
const ALIVE_MS = 5_000;
/**
 * A worker must have sent heartbeats without a gap for this long before it declares others dead: after a
 * database outage all last heartbeats are old, and every worker needs a moment to send the next.
 */
const STEADY_MS = 3_000;
const GAP_MS = 2_000;

export interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export interface Heartbeats {
  /** Send time of the last heartbeat that arrived. */
  readonly last: Moment;
  /** Monotonic start of the current series without a gap. */
  readonly steadySinceMs: number;
}

export const NO_HEARTBEATS: Heartbeats = {
  last: { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY },
  steadySinceMs: 0,
};

/** A heartbeat sent at `sent` has arrived by `now`. */
export function afterHeartbeat(beats: Heartbeats, sent: Moment, now: Moment): Heartbeats {
  const isGap = ageMs(beats.last, now) > GAP_MS;
  return { last: sent, steadySinceMs: isGap ? sent.monotonicMs : beats.steadySinceMs };
}

/** No other worker can have declared the sender dead. */
export function provesLife({ last }: Heartbeats, now: Moment): boolean {
  return ageMs(last, now) < ALIVE_MS;
}

/** The sender may judge others by the age of their heartbeats. */
export function isSteady({ steadySinceMs }: Heartbeats, now: Moment): boolean {
  return now.monotonicMs - steadySinceMs >= STEADY_MS;
}

/** Uses both clocks: the monotonic one stops while the machine sleeps, and the wall clock may be set back. */
function ageMs(moment: Moment, now: Moment): number {
  return Math.max(now.monotonicMs - moment.monotonicMs, now.wallMs - moment.wallMs);
}
