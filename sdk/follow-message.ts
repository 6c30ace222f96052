import type { EventPattern } from './contract-types.ts';
import { streamEvents } from './stream-events.ts';
import type { Transport } from './transport.ts';
import { createLeash, orAborted, sleep } from './wait.ts';

/** The event stream, as far as it tells of one message. */
export interface FollowedMessage {
  /** The stream stands: what happens to the message is told at once. */
  isLive(): boolean;
  /** Resolves when something may have happened since the last call, or after `ms`. Rejects when the caller aborts. */
  change(ms: number): Promise<void>;
  stop(): void;
}

/**
 * Follows the events of `types` that name the message. It says only that something may have happened: after a stream
 * has opened or broken the message has to be read anyway. Where no stream can be had, `change` is a mere wait.
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
    // Refused, or not to be had: reading the message again and again tells the same, later.
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
