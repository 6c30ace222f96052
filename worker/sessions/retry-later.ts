import type { SessionContext } from './session-context.ts';
import { backOffMs, withJitter } from './session-decisions.ts';

/** Opens the session again after this time, or after the back-off's. */
export function retryLater(
  held: SessionContext,
  ms = withJitter(backOffMs(held.failures), held.deps.random()),
): void {
  if (held.stopping.signal.aborted || held.retryTimer.isSet() || held.row.desired !== 'connected') return;
  held.failures += 1;
  held.retryTimer.start(ms);
}

/** Forgets the tries so far, and what users would be told of a lost connection. */
export function stopRetrying(held: SessionContext): void {
  held.retryTimer.stop();
  held.failures = 0;
  held.graceTimer.stop();
}
