/** Room for deliveries claimed as they are written; these must not overtake older ones. */
import { allowedHeld } from './endpoint-control.ts';
import { type Endpoint, heldOf, ID_MARGIN } from './endpoints.ts';

/** How many deliveries being written it could take: none if it may have older ones. */
export function roomOf(endpoint: Endpoint, monotonicMs: number): number {
  if (endpoint.config === null || endpoint.changedAtMs > monotonicMs || mayHaveOlder(endpoint)) return 0;
  return allowedHeld(endpoint.control, monotonicMs) - heldOf(endpoint);
}

function mayHaveOlder({ moreFresh, passedOver, hasReleased, holding }: Endpoint): boolean {
  return moreFresh || passedOver > 0 || hasReleased || holding !== null;
}

/** First attempts wait for it in the database. */
export function noteNew(endpoint: Endpoint): void {
  endpoint.moreFresh = true;
  endpoint.activeAtMs = performance.now();
}

/** The endpoint got this delivery without a claim. */
export function noteTaken(endpoint: Endpoint, id: number, nowMs: number): void {
  endpoint.activeAtMs = nowMs;
  // If older ones may exist, they still have to be claimed.
  if (!mayHaveOlder(endpoint)) endpoint.freshFromId = Math.max(0, id - ID_MARGIN);
}
