/**
 * Decides when an endpoint that was away gets what waits for it, and how fast (WHK-27), without I/O or a clock.
 * All times are monotonic, in ms.
 *
 * While it catches up, its retries are claimed oldest first, whether they are due or not. A claim moves no due time, so
 * what is released again is simply on its schedule. The window begins at one delivery, gains one with each success and
 * loses three quarters with each failure; at zero everything is released, and the next try waits for a pause that
 * doubles. An endpoint that answers once and fails again thus costs one attempt of one delivery.
 */
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import { isFault } from './endpoint-control.ts';
import { RETRY_DELAYS_MS } from './outcome.ts';

export interface CatchUp {
  /** Deliveries may be waiting from when it was away; null: not known, this process has just met it. */
  isBehind: boolean | null;
  /** How many retries it may hold at once; 0: it gets none before they are due. */
  window: number;
  /** When it was last seen to be back. */
  backAtMs: number;
  /** Nothing is asked for before this: a moment ago nothing was left. */
  lookFromMs: number;
  /** Only deliveries with their last attempts are left, and it has not answered often enough for these. */
  needsTrust: boolean;
  /** After a failure it does not catch up before this. */
  resumeFromMs: number;
  pauseMs: number;
  faultsInRow: number;
  faultsSinceMs: number;
}

/** It was away when it had no success between this many faults, over this long. A single failure is none. */
const AWAY_FAULTS = 2;
const AWAY_MS = 2_000;
const WINDOW_MAX = 64;
/**
 * From this window on, attempts that have the longest waits before them are spent too: a delivery keeps its last two for
 * an endpoint that has answered a few times in a row, or some short signs of life in a day would use them up.
 */
const TRUSTED_WINDOW = 8;
const ATTEMPTS_ALL = RETRY_DELAYS_MS.length;
const ATTEMPTS_UNTRUSTED = ATTEMPTS_ALL - 2;
/** The results of attempts that failed just before it was back are recorded by then. */
const SETTLE_MS = 2_000;
const LOOK_EVERY_MS = 1_000;
const PAUSE_FIRST_MS = 2_000;
const PAUSE_MAX_MS = 120_000;

export function newCatchUp(): CatchUp {
  return {
    isBehind: null,
    window: 0,
    backAtMs: 0,
    lookFromMs: 0,
    needsTrust: false,
    resumeFromMs: 0,
    pauseMs: PAUSE_FIRST_MS,
    faultsInRow: 0,
    faultsSinceMs: 0,
  };
}

/** An attempt at the endpoint, as far as it tells whether the endpoint is back. */
export interface CatchUpAttempt {
  errorClass: ErrorClass;
  /** It was made before it was due. */
  isEarly: boolean;
  startedAtMs: number;
  nowMs: number;
  /** Retries wait for the endpoint, due or not. */
  hasRetries: boolean;
}

export function noteAttempt(catchUp: CatchUp, attempt: CatchUpAttempt): void {
  if (attempt.errorClass === '') noteSuccess(catchUp, attempt);
  else noteFailure(catchUp, attempt);
}

function noteSuccess(catchUp: CatchUp, { nowMs, hasRetries }: CatchUpAttempt): void {
  const wasAway = catchUp.faultsInRow >= AWAY_FAULTS && nowMs - catchUp.faultsSinceMs >= AWAY_MS;
  catchUp.faultsInRow = 0;
  if (wasAway) catchUp.isBehind = true;
  else catchUp.isBehind ??= hasRetries;
  if (catchUp.window > 0) catchUp.window = Math.min(catchUp.window + 1, WINDOW_MAX);
  else if (catchUp.isBehind && nowMs >= catchUp.resumeFromMs) begin(catchUp, nowMs);
}

function begin(catchUp: CatchUp, nowMs: number): void {
  catchUp.isBehind = true;
  catchUp.window = Math.max(catchUp.window, 1);
  catchUp.backAtMs = nowMs;
  catchUp.lookFromMs = nowMs;
  catchUp.needsTrust = false;
}

function noteFailure(catchUp: CatchUp, { errorClass, isEarly, startedAtMs, nowMs }: CatchUpAttempt): void {
  // Begun while it was away, and ended after it was back: this delivery waits as well, for longer than the others.
  if (startedAtMs < catchUp.backAtMs && catchUp.faultsInRow === 0) {
    if (nowMs >= catchUp.resumeFromMs) begin(catchUp, nowMs);
    return;
  }
  const isAway = isFault(errorClass);
  if (isAway) {
    if (catchUp.faultsInRow === 0) catchUp.faultsSinceMs = nowMs;
    catchUp.faultsInRow += 1;
  }
  if (catchUp.window === 0 || !(isAway || isEarly)) return;
  catchUp.window = Math.floor(catchUp.window / 4);
  if (catchUp.window > 0) return;
  catchUp.resumeFromMs = nowMs + catchUp.pauseMs;
  catchUp.pauseMs = Math.min(catchUp.pauseMs * 2, PAUSE_MAX_MS);
}

/** Retries with up to this many attempts may be claimed before they are due; 0: none. */
export function attemptsAhead(catchUp: CatchUp, nowMs: number): number {
  const { window, lookFromMs, needsTrust } = catchUp;
  if (window === 0 || nowMs < lookFromMs) return 0;
  if (window >= TRUSTED_WINDOW) return ATTEMPTS_ALL;
  return needsTrust ? 0 : ATTEMPTS_UNTRUSTED;
}

/** How many more retries it may hold; none until a claim is worth it. */
export function windowLeft({ window }: CatchUp, retriesHeld: number): number {
  const left = window - retriesHeld;
  return left < window / 4 ? 0 : left;
}

/** A claim asked for `retries` with up to `ahead` attempts, and got `claimed`. */
export function noteClaim(
  catchUp: CatchUp,
  asked: { retries: number; ahead: number },
  claimed: number,
  nowMs: number,
): void {
  if (asked.ahead === 0 || claimed >= asked.retries) return;
  catchUp.lookFromMs = nowMs + LOOK_EVERY_MS;
  if (catchUp.window === 0 || nowMs - catchUp.backAtMs < SETTLE_MS) return;
  if (asked.ahead < ATTEMPTS_ALL) {
    catchUp.needsTrust = true;
    return;
  }
  catchUp.window = 0;
  catchUp.isBehind = false;
  catchUp.pauseMs = PAUSE_FIRST_MS;
}
