import type { NetworkSession } from '@posthorn/core/network/driver.ts';
import { withTimeout } from '@posthorn/core/platform/process/with-timeout.ts';

/**
 * The time that sends under way have, when their shard is handed over, to learn their outcome from the network. Less
 * than a worker has to stop. Without this limit a network that owes an answer would keep the shard from every worker.
 */
const RELEASED_GRACE_MS = 8_000;
/**
 * The same when their shard was lost: a database that does not answer delays the outcomes, and the queue with them, for
 * half a minute, and the next owner opens its session before that. No account may have two sessions at a time.
 */
const LOST_GRACE_MS = 500;

/**
 * Closes a session when its queue has `ended`, because the outcome of the last send arrives over the session. Sends
 * that have no answer after the grace are left to the next owner, who sends them again under their ids.
 */
export async function closeAfterQueue(
  session: NetworkSession | null,
  ended: Promise<void>,
  how: 'released' | 'lost',
): Promise<void> {
  const graceMs = how === 'lost' ? LOST_GRACE_MS : RELEASED_GRACE_MS;
  await withTimeout(ended, graceMs, () => {});
  try {
    await session?.close();
  } finally {
    await ended;
  }
}
