import { apiError } from '@posthorn/contract/api-error.ts';
import type { Sql } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';
import { createAddressLimiter } from './limit-addresses.ts';
import { createProofLimiter, type Settle } from './limit-proofs.ts';

/** Limits for callers without credentials, by address. Every refusal is 429 RATE_LIMITED. */
export interface StrangerLimits {
  /** A request to a route that takes no credential. Rejects with 503 when it can't be counted. */
  takeRoute(address: string, route: string): Promise<undefined>;
  /** The same for probes of the process itself, which must not depend on the database. Throws. */
  takeProbe(address: string, route: string): void;
  /** Before a key, token, cookie or secret is looked at. Throws or rejects. */
  enterProof(address: string): Settle | Promise<Settle>;
}

/** Load balancers and monitors ask more often than people, and their requests cost next to nothing. */
const PROBES_FACTOR = 30;

/** `perMinute` requests a minute for each address and route, and as many proofs that fail. */
export function createStrangerLimits(deps: { db: Sql; clock: Clock; perMinute: number }): StrangerLimits {
  const addresses = createAddressLimiter({ ...deps, limit: deps.perMinute });
  const proofs = createProofLimiter({ addresses });
  const refuse = (retryAfterS: number): never => {
    throw apiError('RATE_LIMITED', { headers: { 'retry-after': String(retryAfterS) } });
  };
  return {
    async takeRoute(address, route) {
      let slot: Awaited<ReturnType<typeof addresses.take>>;
      try {
        slot = await addresses.take(address, route);
      } catch (cause) {
        // A limit that fails open is no limit, and these routes need the database anyway.
        throw apiError('SERVICE_UNAVAILABLE', { cause, headers: { 'retry-after': '2' } });
      }
      if (!slot.allowed) refuse(slot.retryAfterS);
      return undefined;
    },
    takeProbe(address, route) {
      const slot = addresses.takeLocal(address, route, PROBES_FACTOR * deps.perMinute);
      if (!slot.allowed) refuse(slot.retryAfterS);
    },
    enterProof: (address) => proofs.enter(address),
  };
}
