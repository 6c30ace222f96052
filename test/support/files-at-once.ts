import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';

const HASHES = 20_000;
/** Cores on which `npm test` took 50 minutes and more need 31 to 85 ms. */
const SLOW_MS = 28;
/** The first two are slower on any machine: the code is not compiled yet. */
const TRIES = 5;

/**
 * The number of test files that run side by side: five on two cores, because tests wait more than they compute; with four,
 * the cores were idle for a tenth of the time. On slow cores tests compute more than they wait: three keep two cores busy,
 * and with five, some promises with a deadline were not kept.
 */
export function filesAtOnce(): number {
  return Math.ceil(availableParallelism() * (isSlow() ? 1.5 : 2.5));
}

/** The quickest of a few tries decides, so that other programs do not make the machine look slow. */
function isSlow(): boolean {
  return Math.min(...Array.from({ length: TRIES }, hashingMs)) > SLOW_MS;
}

function hashingMs(): number {
  const since = performance.now();
  for (let nth = 0; nth < HASHES; nth += 1) createHash('sha256').update(String(nth)).digest();
  return performance.now() - since;
}
