import { setTimeout as delay } from 'node:timers/promises';
import type { Channel, Connection } from 'rabbitmq-client';
import type { Log } from '../process/log.ts';
import type { Consumer } from './broker.ts';
import { atMost, keepChannel } from './rabbitmq-channel.ts';
import { ownQueueArguments, ownQueueName, queueArguments } from './rabbitmq-queues.ts';
import { createRequeuePause } from './requeue-pause.ts';

export interface ConsumerOptions {
  connection: Connection;
  log: Log;
  /** Fires when the whole broker closes. */
  signal: AbortSignal;
  /** Null: a queue of its own, anew with each connection. */
  queue: string | null;
  /** Told the queue from which it takes, each time that it begins to. */
  onQueue?: (queue: string) => void;
  /** Unacked messages in flight at most. */
  prefetch: number;
  handle: (body: unknown) => Promise<void>;
}

/**
 * Consumes one queue over its own channel, again after each loss of the connection. Resolves when the
 * first subscription stands.
 *
 * A channel that replaces a lost one takes nothing until the handlers of the lost one have ended: their
 * messages come again, and the same message is never in two handlers of one consumer.
 */
export async function startConsumer(options: ConsumerOptions): Promise<Consumer> {
  const { connection, log, prefetch, handle } = options;
  const name = options.queue ?? 'own queue';
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  const pause = createRequeuePause();
  let consumerTag: string | undefined;

  /** A channel that is gone takes no answer; its unanswered messages are delivered again anyway. */
  const answer = (channel: Channel, send: () => void) => {
    if (!channel.active) return;
    try {
      send();
    } catch (err) {
      log.warn({ err, queue: name }, 'acknowledging failed, the message will be delivered again');
    }
  };

  const work = async (channel: Channel, deliveryTag: number, body: unknown) => {
    try {
      await handle(body);
    } catch (err) {
      log.warn({ err, queue: name }, 'handler failed, returning the message to its queue');
      await delay(pause.next(), undefined, { signal: closing.signal }).catch(() => {});
      answer(channel, () => channel.basicNack({ deliveryTag, requeue: true }));
      return;
    }
    pause.reset();
    answer(channel, () => channel.basicAck({ deliveryTag }));
  };

  const channels = keepChannel({
    connection,
    log,
    name: `consumer of ${name}`,
    signal: options.signal,
    async setUp(channel) {
      await Promise.all(running);
      // Declared again, not only looked up: a broker that lost its data has lost the queue.
      const queue = options.queue ?? ownQueueName();
      await channel.queueDeclare(options.queue === null ? ownQueueArguments(queue) : queueArguments(queue));
      await channel.basicQos({ prefetchCount: prefetch });
      // Somebody deleted the queue: begin again, which makes it anew.
      channel.once('basic.cancel', () => void channel.close());
      const started = await channel.basicConsume({ queue }, ({ deliveryTag, body }) => {
        // Messages that arrive after the cancellation stay unanswered and go back when the channel closes.
        if (closing.signal.aborted || !channel.active) return;
        const run = work(channel, deliveryTag, body).finally(() => running.delete(run));
        running.add(run);
      });
      consumerTag = started.consumerTag;
      options.onQueue?.(queue);
    },
  });
  await channels.ready;

  const stop = async () => {
    closing.abort();
    const channel = channels.current();
    if (channel && consumerTag) await atMost(channel.basicCancel({ consumerTag }));
    await Promise.all(running);
    await channels.close();
  };
  let stopped: Promise<void> | undefined;
  return {
    close() {
      stopped ??= stop();
      return stopped;
    },
  };
}
