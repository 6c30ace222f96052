import { setTimeout as delay } from 'node:timers/promises';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { Metrics } from '../platform/process/metrics.ts';

/** Refuses requests that would wait long, before anything is done for them (LIM-15). */
export interface LoadShedder {
  /**
   * Counts a request of a company until the returned function is called. Throws 503 SERVICE_UNAVAILABLE with Retry-After
   * while requests wait longer than {@link WAIT_MAX_MS} and {@link OPEN_MAX} of this company are open.
   */
  enter(companyId: number): () => void;
}

/** Far above what a busy machine needs, far below the 10 s after which a request is given up. */
export const WAIT_MAX_MS = 2_000;
/** A company with fewer open requests is not what the others wait for. */
export const OPEN_MAX = 64;
const PROBE_INTERVAL_MS = 250;

export interface ShedderDeps {
  /** How long accepts wait, ms; absent: there are none. */
  waitMs?: () => number;
  /**
   * Waits for what other requests wait for, and does nothing: a turn of the event loop, a connection of each pool, and the
   * database. Asked while a company has {@link OPEN_MAX} requests open.
   */
  probe: () => Promise<unknown>;
  metrics: Metrics;
}

export function createLoadShedder(deps: ShedderDeps): LoadShedder {
  const open = new Map<number, number>();
  let crowds = 0;
  const probe = createProbe(deps.probe, { isNeeded: () => crowds > 0 });
  const countShed = deps.metrics.counter(
    'posthorn_requests_shed_total',
    'Requests that were refused because the process was overloaded',
  );

  function refuseIfLate(): void {
    const waitMs = Math.max(deps.waitMs?.() ?? 0, probe.waitMs());
    if (waitMs <= WAIT_MAX_MS) return;
    countShed();
    throw apiError('SERVICE_UNAVAILABLE', {
      cause: new Error(`overloaded: requests wait for more than ${WAIT_MAX_MS} ms`),
      headers: { 'retry-after': String(Math.ceil(waitMs / 1_000)) },
    });
  }

  function leave(companyId: number): void {
    const held = open.get(companyId)!;
    if (held === OPEN_MAX) crowds -= 1;
    if (held > 1) open.set(companyId, held - 1);
    else open.delete(companyId);
  }

  return {
    enter(companyId) {
      const held = (open.get(companyId) ?? 0) + 1;
      if (held > OPEN_MAX) refuseIfLate();
      open.set(companyId, held);
      if (held === OPEN_MAX) {
        crowds += 1;
        probe.begin();
      }
      let left = false;
      return () => {
        if (left) return;
        left = true;
        leave(companyId);
      };
    },
  };
}

/** Asks again and again while it is needed, and not at all otherwise. A failure counts for as long as it took. */
function createProbe(ask: () => Promise<unknown>, { isNeeded }: { isNeeded: () => boolean }) {
  let isRunning = false;
  let tookMs = 0;
  let beganAtMs: number | null = null;

  async function run(): Promise<void> {
    while (isNeeded()) {
      const sinceMs = performance.now();
      beganAtMs = sinceMs;
      await ask().catch(() => undefined);
      tookMs = performance.now() - sinceMs;
      beganAtMs = null;
      await delay(PROBE_INTERVAL_MS, undefined, { ref: false });
    }
    tookMs = 0;
    isRunning = false;
  }

  return {
    begin(): void {
      if (isRunning) return;
      isRunning = true;
      void run();
    },
    /** The time that the last probe took, or that the open probe has taken so far, whichever is longer; ms. */
    waitMs: () => Math.max(tookMs, beganAtMs === null ? 0 : performance.now() - beganAtMs),
  };
}
