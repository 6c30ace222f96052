import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';

/**
 * Learns from an endpoint's answers how many concurrent attempts it may get. The cap starts low and grows
 * with each answer; a fault halves it, at most once a second, because concurrent attempts report the same
 * fault. Failures that cost time (timeouts) open a breaker: the endpoint gets nothing for a while, then one
 * probe, the sooner the shorter it has been away. Quick failures do not open it: they cost little, and each
 * delivery's retry schedule paces them.
 */
export interface EndpointControl {
  cap: number;
  halvedAtMs: number;
  slowFaultsInRow: number;
  /** On the monotonic clock; 0 while the breaker is closed. */
  openUntilMs: number;
  /** When the first fault since its last answer came, monotonic; null: none has come. */
  faultsSinceMs: number | null;
  /** Moving average of its answer times; infinite until it has answered. */
  latencyMs: number;
}

const CAP_FIRST = 8;
const CAP_MIN = 4;
const HALVE_EVERY_MS = 1_000;
const CAP_PROBED = 4;
const CAP_MAX = 64;
const BREAKER_FAULTS = 5;
/** One that is back after `t` is noticed within a twentieth of `t`: after 90 s away, within 4.5 s. */
const OPEN_SHARE = 20;
const OPEN_MIN_MS = 4_000;
const OPEN_MAX_MS = 120_000;
/**
 * An endpoint that answers within this time gets its next deliveries in advance, so that it never waits for
 * them. One that has not answered yet does not: if it hangs, deliveries held for it would take room from
 * others.
 */
const FAST_MS = 500;
/** A fault that took this long counts for the breaker in any class, e.g. a connection cut after 14 s. */
const SLOW_FAULT_MS = 5_000;

const FAULTS: ReadonlySet<ErrorClass> = new Set<ErrorClass>([
  'timeout',
  'connection',
  'tls',
  'dns',
  'server_5xx',
  'rate_limited',
]);

/** Whether such an outcome concerns the endpoint, and not the payload. */
export function isFault(errorClass: ErrorClass): boolean {
  return FAULTS.has(errorClass);
}

export function newEndpointControl(): EndpointControl {
  return {
    cap: CAP_FIRST,
    halvedAtMs: Number.NEGATIVE_INFINITY,
    slowFaultsInRow: 0,
    openUntilMs: 0,
    faultsSinceMs: null,
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
  if (!isFault(attempt.errorClass)) {
    // It answered: a refusal concerns the payload, not the endpoint's health.
    control.cap = control.openUntilMs > 0 ? CAP_PROBED : Math.min(control.cap + 1, CAP_MAX);
    control.slowFaultsInRow = 0;
    control.openUntilMs = 0;
    control.faultsSinceMs = null;
    return;
  }
  control.faultsSinceMs ??= attempt.nowMs;
  if (attempt.nowMs - control.halvedAtMs >= HALVE_EVERY_MS) {
    control.cap = Math.max(CAP_MIN, Math.floor(control.cap / 2));
    control.halvedAtMs = attempt.nowMs;
  }
  if (attempt.errorClass !== 'timeout' && attempt.latencyMs < SLOW_FAULT_MS) return;
  control.slowFaultsInRow += 1;
  // Attempts in flight when the breaker opened add no information.
  if (control.slowFaultsInRow < BREAKER_FAULTS || control.openUntilMs > attempt.nowMs) return;
  const waitMs = (attempt.nowMs - control.faultsSinceMs) / OPEN_SHARE;
  control.openUntilMs = attempt.nowMs + Math.min(Math.max(waitMs, OPEN_MIN_MS), OPEN_MAX_MS);
}

/** The next attempt at it is a probe that may be made now. */
export function endBreak(control: EndpointControl, nowMs: number): void {
  control.openUntilMs = Math.min(control.openUntilMs, nowMs);
}

/** Maximum attempts in progress at this moment: none while the breaker is open, then one probe. */
export function allowedInFlight(control: EndpointControl, nowMs: number): number {
  if (control.openUntilMs === 0) return control.cap;
  return nowMs < control.openUntilMs ? 0 : 1;
}

/** Maximum deliveries held for it, in progress or waiting here. */
export function allowedHeld(control: EndpointControl, nowMs: number): number {
  const inFlight = allowedInFlight(control, nowMs);
  return control.openUntilMs === 0 && control.latencyMs < FAST_MS ? inFlight * 4 : inFlight;
}

/** How an endpoint has answered so far: `failing` since its last answer, else by the average of its times. */
export type EndpointClass = 'prompt' | 'slow' | 'failing';

/** One that has not answered yet is prompt: its first answer decides. */
export function classOfEndpoint(control: EndpointControl): EndpointClass {
  if (control.faultsSinceMs !== null) return 'failing';
  return Number.isFinite(control.latencyMs) && control.latencyMs >= FAST_MS ? 'slow' : 'prompt';
}

export function isBroken(control: EndpointControl, nowMs: number): boolean {
  return control.openUntilMs > nowMs;
}
