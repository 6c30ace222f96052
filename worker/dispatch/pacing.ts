import type { Clock } from '@posthorn/core/platform/process/clock.ts';

/**
 * How long to wait before a send, so that `minMs` and up to half of it at random lie between it and the one before
 * (SND-39). `random` in [0, 1). A clock that was set back makes nobody wait longer than a whole pause.
 */
export function pauseMs(send: { lastAtMs: number; nowMs: number; minMs: number; random: number }): number {
  const pause = send.minMs * (1 + send.random / 2);
  const passed = Math.max(0, send.nowMs - send.lastAtMs);
  return Math.max(0, pause - passed);
}

/** The distance between two sends of one instance. */
export interface Pacer {
  /** False: sends follow each other at once, as many at a time as the window of the driver. */
  readonly isOn: boolean;
  /** Resolves when the next send may go. */
  turn(signal: AbortSignal): Promise<void>;
  /** A send has just gone to the network, whatever came of it. */
  sent(): void;
}

/**
 * A new pacer waits as if a send had just been made: nobody knows what the owner before it sent last, and so the
 * distance also holds when a worker is restarted or an instance moves to another one.
 */
export function createPacer(deps: { clock: Clock; random(): number }, minMs: number): Pacer {
  const nowMs = () => deps.clock.now().getTime();
  let lastAtMs = nowMs();
  return {
    isOn: minMs > 0,
    async turn(signal) {
      const waitMs = pauseMs({ lastAtMs, nowMs: nowMs(), minMs, random: deps.random() });
      if (waitMs > 0) await deps.clock.sleep(waitMs, signal);
    },
    sent() {
      lastAtMs = nowMs();
    },
  };
}
