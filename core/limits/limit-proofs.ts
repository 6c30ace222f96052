import { apiError } from '@posthorn/contract/api-error.ts';
import type { AddressLimiter } from './limit-addresses.ts';
import { createWindows, type Window } from './minute-windows.ts';

/** To be called when the outcome of the proof is known. */
export type Settle = (failed: boolean) => void;

/**
 * Bounds how many keys, tokens and cookies are looked up for one address: after `limit` failures in a minute no more
 * of its credentials are looked up.
 */
export interface ProofLimiter {
  /**
   * Lets a look-up begin: at once, or when enough earlier ones of the address have ended that a failure would still be
   * within the limit. A burst of unknown keys thus costs no more look-ups than the limit, and a burst of valid ones
   * waits for a moment and passes. Throws or rejects with 429 RATE_LIMITED.
   */
  enter(address: string): Settle | Promise<Settle>;
}

interface ProofWindow extends Window {
  failures: number;
  running: number;
  waiting: { start: () => void; refuse: () => void }[];
}

const NAME = 'proofs';
/** Requests of one address that may wait; further ones are refused at once. */
const WAITING_MAX = 500;
const ADDRESSES_MAX = 50_000;

export function createProofLimiter(deps: { addresses: AddressLimiter }): ProofLimiter {
  const { addresses } = deps;
  const { minutes, limit } = addresses;
  const isBusy = (window: ProofWindow) => window.running > 0 || window.waiting.length > 0;
  const windows = createWindows<string, ProofWindow>({
    minutes,
    max: ADDRESSES_MAX,
    open: (minute) => ({ minute, failures: 0, running: 0, waiting: [] }),
    renew: (window) => {
      window.failures = 0;
    },
    isBusy,
    // An address that is over its limit must not be forgotten within the minute.
    mayForget: (window) => window.failures < limit,
  });

  function settler(address: string, window: ProofWindow): Settle {
    window.running += 1;
    let settled = false;
    return (failed) => {
      if (settled) return;
      settled = true;
      // Begins a new minute on the window if one has begun since.
      windows.of(address);
      window.running -= 1;
      if (failed) fail(address, window);
      else if (!isBusy(window) && window.failures === 0) windows.delete(address);
      startWaiting(window);
    };
  }

  function fail(address: string, window: ProofWindow): void {
    window.failures += 1;
    const { minute } = window;
    // Adds the counts of the other processes; when that fails, only this process's count is known.
    addresses.note(address, NAME).then(
      (failures) => {
        if (window.minute === minute) window.failures = Math.max(window.failures, failures);
      },
      () => undefined,
    );
  }

  function startWaiting(window: ProofWindow): void {
    if (window.failures >= limit) for (const each of window.waiting.splice(0)) each.refuse();
    while (window.failures + window.running < limit) {
      const next = window.waiting.shift();
      if (!next) return;
      next.start();
    }
  }

  const refusal = () =>
    apiError('RATE_LIMITED', { headers: { 'retry-after': String(minutes.retryAfterS()) } });

  return {
    enter(address) {
      const window = windows.of(address);
      if (window.failures >= limit || window.waiting.length >= WAITING_MAX) throw refusal();
      if (window.failures + window.running < limit) return settler(address, window);
      return new Promise((resolve, reject) => {
        window.waiting.push({
          start: () => resolve(settler(address, window)),
          refuse: () => reject(refusal()),
        });
      });
    },
  };
}
