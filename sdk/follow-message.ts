import type { EventPattern } from './contract-types.ts';
import { streamEvents } from './stream-events.ts';
import type { Transport } from './transport.ts';
import { createLeash, orAborted, sleep } from './wait.ts';

/** The events of one message, from the event stream. */
export interface FollowedMessage {
  /** True while the stream is open, so that changes of the message are known at once. */
  isLive(): boolean;
  /** Resolves when something may have happened since the last call, or after `ms`. Rejects when the caller aborts. */
  change(ms: number): Promise<void>;
  stop(): void;
}

/**
 * Follows the events of `types` that name the message. It says only that something may have happened: after a stream
 * opened or broke, the caller has to read the message anyway. Without a stream, `change` only waits.
 */
export function followMessage(
  deps: { transport: Transport },
  options: {
    instanceId: string;
    messageId: string;
    types: readonly EventPattern[];
    signal: AbortSignal | undefined;
  },
): FollowedMessage {
  const { instanceId, messageId, types, signal } = options;
  const leash = createLeash(null, signal);
  let isLive = false;
  let told = false;
  let wake = () => {};
  const tell = (live: boolean) => {
    isLive = live;
    told = true;
    wake();
  };

  async function follow(): Promise<void> {
    const events = streamEvents(deps, {
      instanceId,
      types,
      signal: leash.signal,
      onOpen: () => tell(true),
      onReconnect: () => tell(false),
      onReset: () => tell(isLive),
    });
    for await (const { data } of events) {
      const { message_ids: ids } = data as { message_ids?: readonly string[] };
      if (ids?.includes(messageId)) tell(true);
    }
  }
  follow()
    // If the stream is refused or fails, repeated reads of the message show the same, only later.
    .catch(() => undefined)
    .finally(() => tell(false));

  return {
    isLive: () => isLive,
    async change(ms) {
      const over = new AbortController();
      const waited = sleep(ms, over.signal).catch(() => undefined);
      wake = () => over.abort();
      if (told) wake();
      await orAborted(waited, signal).finally(wake);
      // The caller reads the message next, which shows everything that happened before.
      told = false;
    },
    stop: leash.cut,
  };
}
