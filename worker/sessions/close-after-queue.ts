import { setTimeout as delay } from 'node:timers/promises';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';

/** What sends under way have left when their shard was lost, to hear from the network how they ended. */
const LOST_GRACE_MS = 500;

/**
 * Closes a session when its queue has `ended`, because the outcome of the last send arrives over the session.
 *
 * Not so when the shard `isLost`: a database that does not answer holds up the outcomes, and the queue with them, for half a
 * minute, and the next owner opens its session before that. No account has two at a time.
 */
export async function closeAfterQueue(
  session: NetworkSession | null,
  ended: Promise<void>,
  isLost: boolean,
): Promise<void> {
  const timer = new AbortController();
  const grace = delay(LOST_GRACE_MS, undefined, { signal: timer.signal }).catch(() => undefined);
  await (isLost ? Promise.race([ended, grace]) : ended).finally(() => timer.abort());
  await session?.close();
  await ended;
}
