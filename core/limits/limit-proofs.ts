import { apiError } from '@posthorn/contract/api-error.ts';
import type { AddressLimiter } from './limit-addresses.ts';

/** To be called when it is known whether the proof was one. */
export type Settle = (failed: boolean) => void;

/**
 * Keeps strangers from having keys, tokens and cookies looked up without end. After `limit` failures in a
 * minute an address has no more of them looked at.
 */
export interface ProofLimiter {
  /**
   * Lets a look-up begin: at once, or when so many of its address have ended that its failure would still be
   * within the limit. So a burst of unknown keys costs no more look-ups than the limit, and a burst of good
   * ones waits for a moment and passes. Throws or rejects with 429 RATE_LIMITED.
   */
  enter(address: string): Settle | Promise<Settle>;
}

interface Attempts {
  minute: number;
  failures: number;
  running: number;
  waiting: { start: () => void; refuse: () => void }[];
}

const NAME = 'proofs';
/** Of one address; those who come on top are refused at once. */
const WAITING_MAX = 500;
const ADDRESSES_MAX = 50_000;

export function createProofLimiter(deps: { addresses: AddressLimiter }): ProofLimiter {
  const { addresses } = deps;
  const byAddress = new Map<string, Attempts>();

  function attemptsOf(address: string): Attempts {
    let attempts = byAddress.get(address);
    if (!attempts) {
      if (byAddress.size >= ADDRESSES_MAX) forgetIdle();
      attempts = { minute: addresses.minute(), failures: 0, running: 0, waiting: [] };
      byAddress.set(address, attempts);
    }
    startMinute(attempts);
    return attempts;
  }

  function startMinute(attempts: Attempts): void {
    const minute = addresses.minute();
    if (attempts.minute === minute) return;
    attempts.minute = minute;
    attempts.failures = 0;
  }

  function forgetIdle(): void {
    const minute = addresses.minute();
    for (const [address, { running, waiting, minute: of, failures }] of byAddress)
      if (running === 0 && waiting.length === 0 && (of !== minute || failures < addresses.limit))
        byAddress.delete(address);
  }

  function settler(address: string, attempts: Attempts): Settle {
    attempts.running += 1;
    let settled = false;
    return (failed) => {
      if (settled) return;
      settled = true;
      attempts.running -= 1;
      startMinute(attempts);
      if (failed) fail(address, attempts);
      else if (attempts.running === 0 && attempts.waiting.length === 0 && attempts.failures === 0)
        byAddress.delete(address);
      goOn(attempts);
    };
  }

  function fail(address: string, attempts: Attempts): void {
    attempts.failures += 1;
    const { minute } = attempts;
    // What the other processes have seen of this address; a count that fails is one that only we know of.
    addresses.note(address, NAME).then(
      (failures) => {
        if (attempts.minute === minute) attempts.failures = Math.max(attempts.failures, failures);
      },
      () => undefined,
    );
  }

  function goOn(attempts: Attempts): void {
    if (attempts.failures >= addresses.limit) for (const each of attempts.waiting.splice(0)) each.refuse();
    while (attempts.waiting.length > 0 && attempts.failures + attempts.running < addresses.limit)
      attempts.waiting.shift()!.start();
  }

  const refusal = () =>
    apiError('RATE_LIMITED', { headers: { 'retry-after': String(addresses.retryAfterS()) } });

  return {
    enter(address) {
      const attempts = attemptsOf(address);
      if (attempts.failures >= addresses.limit || attempts.waiting.length >= WAITING_MAX) throw refusal();
      if (attempts.failures + attempts.running < addresses.limit) return settler(address, attempts);
      return new Promise((resolve, reject) => {
        attempts.waiting.push({
          start: () => resolve(settler(address, attempts)),
          refuse: () => reject(refusal()),
        });
      });
    },
  };
}
