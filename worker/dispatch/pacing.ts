import type { Clock } from '@posthorn/core/platform/process/clock.ts';

/**
 * How long to wait before a send, so that `minMs` plus a random 0 to 50 % separates it from the previous one
 * (SND-39). `random` in [0, 1). A clock set back never causes more than one whole pause.
 */
export function pauseMs(send: { lastAtMs: number; nowMs: number; minMs: number; random: number }): number {
  const pause = send.minMs * (1 + send.random / 2);
  const passed = Math.max(0, send.nowMs - send.lastAtMs);
  return Math.max(0, pause - passed);
}

/** Keeps the minimum distance between two sends of one instance. */
export interface Pacer {
  /** If false, sends follow each other immediately, with as many in flight as the driver's window. */
  readonly isOn: boolean;
  /** Resolves when the next send may go. */
  turn(signal: AbortSignal): Promise<void>;
  /** Notes that a send has just reached the network, whatever its outcome. */
  sent(): void;
}

/**
 * A new pacer waits as if a send had just been made: the previous owner's last send is unknown, so the
 * distance also holds across worker restarts and moves between workers.
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
