import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';

/**
 * How much one endpoint may get concurrently, learnt from its answers. The cap starts low and grows with each
 * answer; a fault halves it, at most once a second, because concurrent attempts report the same fault. Failures
 * that cost time (timeouts) open a breaker: for a while the endpoint gets nothing, then one probe. Quick failures
 * do not: they cost little, and the retry schedule of each delivery paces them.
 */
export interface EndpointControl {
  cap: number;
  halvedAtMs: number;
  slowFaultsInRow: number;
  /** On the monotonic clock; 0 while the breaker is closed. */
  openUntilMs: number;
  timesOpened: number;
  /** Moving average of what its answers took; infinite until it has answered. */
  latencyMs: number;
}

const CAP_FIRST = 8;
const CAP_MIN = 4;
const HALVE_EVERY_MS = 1_000;
const CAP_PROBED = 4;
const CAP_MAX = 64;
const BREAKER_FAULTS = 5;
const OPEN_FIRST_MS = 10_000;
const OPEN_MAX_MS = 120_000;
/**
 * An endpoint that answers within this is given its next deliveries ahead, so that it never waits for them.
 * One that has not answered yet is not: what is held for it would be held back from others if it hangs.
 */
const FAST_MS = 500;
/** A fault that took this long counts for the breaker whatever its class: a connection cut after 14 s. */
const SLOW_FAULT_MS = 5_000;

const FAULTS: ReadonlySet<ErrorClass> = new Set<ErrorClass>([
  'timeout',
  'connection',
  'tls',
  'dns',
  'server_5xx',
  'rate_limited',
]);

export function newEndpointControl(): EndpointControl {
  return {
    cap: CAP_FIRST,
    halvedAtMs: Number.NEGATIVE_INFINITY,
    slowFaultsInRow: 0,
    openUntilMs: 0,
    timesOpened: 0,
    latencyMs: Number.POSITIVE_INFINITY,
  };
}

export function learn(
  control: EndpointControl,
  attempt: { errorClass: ErrorClass; latencyMs: number; nowMs: number },
): void {
  control.latencyMs = Number.isFinite(control.latencyMs)
    ? control.latencyMs + (attempt.latencyMs - control.latencyMs) * 0.1
    : attempt.latencyMs;
  if (!FAULTS.has(attempt.errorClass)) {
    // It answered: a refusal is about the payload, not about the endpoint's health.
    control.cap = control.openUntilMs > 0 ? CAP_PROBED : Math.min(control.cap + 1, CAP_MAX);
    control.slowFaultsInRow = 0;
    control.openUntilMs = 0;
    control.timesOpened = 0;
    return;
  }
  if (attempt.nowMs - control.halvedAtMs >= HALVE_EVERY_MS) {
    control.cap = Math.max(CAP_MIN, Math.floor(control.cap / 2));
    control.halvedAtMs = attempt.nowMs;
  }
  if (attempt.errorClass !== 'timeout' && attempt.latencyMs < SLOW_FAULT_MS) return;
  control.slowFaultsInRow += 1;
  // Attempts that were in flight when it opened say nothing new.
  if (control.slowFaultsInRow < BREAKER_FAULTS || control.openUntilMs > attempt.nowMs) return;
  control.openUntilMs = attempt.nowMs + Math.min(OPEN_FIRST_MS * 2 ** control.timesOpened, OPEN_MAX_MS);
  control.timesOpened += 1;
}

/** Attempts that may be under way at this moment: none while the breaker is open, then one probe. */
export function allowedInFlight(control: EndpointControl, nowMs: number): number {
  if (control.openUntilMs === 0) return control.cap;
  return nowMs < control.openUntilMs ? 0 : 1;
}

/** Deliveries that may be held for it, under way or waiting here. */
export function allowedHeld(control: EndpointControl, nowMs: number): number {
  const inFlight = allowedInFlight(control, nowMs);
  return control.openUntilMs === 0 && control.latencyMs < FAST_MS ? inFlight * 4 : inFlight;
}

export function isBroken(control: EndpointControl, nowMs: number): boolean {
  return control.openUntilMs > nowMs;
}
