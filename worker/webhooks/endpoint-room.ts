/** Room for deliveries that are claimed as they are written, which must not overtake older ones. */
import { allowedHeld } from './endpoint-control.ts';
import { type Endpoint, heldOf, ID_MARGIN } from './endpoints.ts';

/** How many deliveries it could take that are being written: of one that may have older ones none. */
export function roomOf(endpoint: Endpoint, monotonicMs: number): number {
  if (endpoint.config === null || endpoint.changedAtMs > monotonicMs || mayHaveOlder(endpoint)) return 0;
  return allowedHeld(endpoint.control, monotonicMs) - heldOf(endpoint);
}

function mayHaveOlder({ moreFresh, passedOver, hasReleased, holding }: Endpoint): boolean {
  return moreFresh || passedOver > 0 || hasReleased || holding !== null;
}

/** First attempts are waiting for it in the database. */
export function noteNew(endpoint: Endpoint): void {
  endpoint.moreFresh = true;
  endpoint.activeAtMs = performance.now();
}

/** It got this delivery without a claim. */
export function noteTaken(endpoint: Endpoint, id: number, nowMs: number): void {
  endpoint.activeAtMs = nowMs;
  // What stands before it may have to be claimed yet.
  if (!mayHaveOlder(endpoint)) endpoint.freshFromId = Math.max(0, id - ID_MARGIN);
}
