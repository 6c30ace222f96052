import { setTimeout as delay } from 'node:timers/promises';
import type { Channel, Connection } from 'rabbitmq-client';
import type { Log } from '../process/log.ts';
import { withTimeout } from '../process/with-timeout.ts';

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 3_000;
const GOODBYE_TIMEOUT_MS = 2_000;

export interface KeptChannel {
  /** The channel while it is set up, else null. */
  current(): Channel | null;
  /** Resolves when the channel is set up for the first time; rejects when closed before. */
  ready: Promise<void>;
  /** Closes the channel and opens no other. */
  close(): Promise<void>;
}

/**
 * Keeps one channel open and set up over lost connections, wiped brokers and channel errors, forever.
 *
 * Own loop instead of the library's Consumer and Publisher: those wait out a random back-off of up to
 * their longest pause after the broker is back, and cannot redeclare what a wiped broker lost.
 */
export function keepChannel(options: {
  connection: Connection;
  log: Log;
  name: string;
  /** Fires when the whole broker closes: no channel is opened from then on. */
  signal: AbortSignal;
  setUp: (channel: Channel) => Promise<void>;
  /** Called each time the channel stands. */
  onReady?: () => void;
}): KeptChannel {
  const { connection, log, name } = options;
  const closing = new AbortController();
  const ended = AbortSignal.any([closing.signal, options.signal]);
  const first = Promise.withResolvers<void>();
  first.promise.catch(() => {});
  let opened: Channel | undefined;
  let current: Channel | null = null;

  const keepOnce = async () => {
    // Waits for the connection as long as it takes (acquireTimeout of the connection's options).
    const channel = await connection.acquire({ emitErrorsFromChannel: true });
    opened = channel;
    const closed = new Promise<void>((resolve) => channel.once('close', resolve));
    channel.on('error', (err) => log.warn({ err, channel: name }, 'broker channel error'));
    try {
      ended.throwIfAborted();
      await options.setUp(channel);
      ended.throwIfAborted();
      current = channel;
      first.resolve();
      options.onReady?.();
      await closed;
    } finally {
      current = null;
      await channel.close();
    }
  };

  const keepOpen = async () => {
    let failures = 0;
    while (!ended.aborted) {
      try {
        await keepOnce();
        failures = 0;
      } catch (err) {
        failures += 1;
        if (failures === 1 && !ended.aborted)
          log.warn({ err, channel: name }, 'setting up a broker channel failed');
      }
      const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** failures, LONGEST_RETRY_MS);
      await delay(pauseMs, undefined, { signal: ended }).catch(() => {});
    }
    first.reject(new Error('broker is closed'));
  };
  void keepOpen();

  return {
    current: () => current,
    ready: first.promise,
    async close() {
      closing.abort();
      if (opened) await atMost(opened.close());
    },
  };
}

/** Waits for an orderly close, but not forever: a broker that vanished answers nothing. */
export async function atMost(goodbye: Promise<unknown>): Promise<void> {
  // Errors of the close concern nobody.
  await withTimeout(goodbye, GOODBYE_TIMEOUT_MS, () => {}).catch(() => {});
}
