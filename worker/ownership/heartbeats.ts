/**
 * What a worker's own heartbeats prove. Nothing here sends one or reads a clock: the moment is handed in.
 */

/**
 * A heartbeat proves that one is alive for so long, counted from before it was sent. Well below the time
 * after which others declare one dead (FROZEN_AFTER_MS), which they count from after it arrived.
 */
const ALIVE_MS = 5_000;
/**
 * Who has not been beating without a gap for so long declares nobody dead: after the database was away,
 * everybody's last heartbeat is old, and they all need a moment to send the next.
 */
const STEADY_MS = 3_000;
const GAP_MS = 2_000;

export interface Moment {
  monotonicMs: number;
  wallMs: number;
}

export interface Heartbeats {
  /** When the last one that arrived was sent. */
  readonly last: Moment;
  /** Since when they come without a gap, monotonic. */
  readonly steadySinceMs: number;
}

export const NO_HEARTBEATS: Heartbeats = {
  last: { monotonicMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY },
  steadySinceMs: 0,
};

/** One that was sent at `sent` has arrived, as is known `now`. */
export function afterHeartbeat(beats: Heartbeats, sent: Moment, now: Moment): Heartbeats {
  const isGap = ageMs(beats.last, now) > GAP_MS;
  return { last: sent, steadySinceMs: isGap ? sent.monotonicMs : beats.steadySinceMs };
}

/** Nobody can have declared its sender dead. */
export function provesLife({ last }: Heartbeats, now: Moment): boolean {
  return ageMs(last, now) < ALIVE_MS;
}

/** Its sender may judge by the age of other workers' heartbeats. */
export function isSteady({ steadySinceMs }: Heartbeats, now: Moment): boolean {
  return now.monotonicMs - steadySinceMs >= STEADY_MS;
}

/** The monotonic clock stands still while the whole machine is asleep, and the wall clock may be set back. */
function ageMs(moment: Moment, now: Moment): number {
  return Math.max(now.monotonicMs - moment.monotonicMs, now.wallMs - moment.wallMs);
}
