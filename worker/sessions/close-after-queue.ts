import { setTimeout as delay } from 'node:timers/promises';
import type { NetworkSession } from '@posthorn/core/network/driver.ts';

/**
 * What sends under way have left when their shard is handed over, to hear from the network how they ended. Less than a worker
 * has to stop; a network that owes an answer would otherwise keep the shard from everybody for as long as it likes.
 */
const RELEASED_GRACE_MS = 8_000;
/**
 * The same when their shard was lost: a database that does not answer holds up the outcomes, and the queue with them, for half
 * a minute, and the next owner opens its session before that. No account has two at a time.
 */
const LOST_GRACE_MS = 500;

/**
 * Closes a session when its queue has `ended`, because the outcome of the last send arrives over the session. What is still
 * without an answer after a while is left to the next owner, who sends it again under its id.
 */
export async function closeAfterQueue(
  session: NetworkSession | null,
  ended: Promise<void>,
  isLost: boolean,
): Promise<void> {
  const timer = new AbortController();
  const graceMs = isLost ? LOST_GRACE_MS : RELEASED_GRACE_MS;
  const grace = delay(graceMs, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([ended, grace]).finally(() => timer.abort());
  await session?.close();
  await ended;
}
