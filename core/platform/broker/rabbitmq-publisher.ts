import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import type { Connection } from 'rabbitmq-client';
import type { Log } from '../process/log.ts';
import { withTimeout } from '../process/with-timeout.ts';
import { NoSuchQueue } from './broker.ts';
import { keepChannel } from './rabbitmq-channel.ts';
import { declareQueues } from './rabbitmq-queues.ts';

/**
 * A queue made anew within some 50 ms of its deletion catches RabbitMQ 3.10 out: consumers of the old one
 * are not cancelled, count as consumers of the new one and get nothing. Consumers that are cancelled
 * make the queue again by themselves, before this runs.
 */
const REDECLARE_AFTER_MS = 1_000;

export interface Publisher {
  publish(queue: string, body: unknown): Promise<void>;
  isUp(): boolean;
  /** Resolves when it is up for the first time; rejects when closed before. */
  ready: Promise<void>;
  /** Waits for the publishes in flight, each of which ends within the confirm time-out. */
  close(): Promise<void>;
}

interface InFlight {
  returned: boolean;
  done: Promise<void>;
}

/**
 * Publishes with confirms over one channel, any number in flight. Before the channel counts as up, the
 * queues declared so far are declared again: the broker may have come back without its data.
 */
// long: its steps share the publishes in flight and the channel that carries them
export function startPublisher(options: {
  connection: Connection;
  log: Log;
  confirmTimeoutMs: number;
  signal: AbortSignal;
  declared: ReadonlySet<string>;
  onUp: () => void;
}): Publisher {
  const { connection, log, confirmTimeoutMs, declared } = options;
  const inFlight = new Map<string, InFlight>();
  const redeclaring = new Set<string>();
  let sequence = 0;
  let closing = false;

  const channels = keepChannel({
    connection,
    log,
    name: 'publisher',
    signal: options.signal,
    async setUp(channel) {
      channel.on('basic.return', (message) => {
        const publish = inFlight.get(message.messageId ?? '');
        if (publish) publish.returned = true;
        if (declared.has(message.routingKey)) redeclare(message.routingKey);
      });
      await channel.confirmSelect();
      await declareQueues(connection, declared);
    },
    onReady: options.onUp,
  });

  /** A queue that was there and is gone while the connection stayed up: somebody deleted it. */
  const redeclare = (queue: string) => {
    if (redeclaring.has(queue)) return;
    redeclaring.add(queue);
    delay(REDECLARE_AFTER_MS, undefined, { signal: options.signal })
      .then(() => declareQueues(connection, [queue]))
      .catch((err) => options.signal.aborted || log.warn({ err, queue }, 'declaring a queue again failed'))
      .finally(() => redeclaring.delete(queue));
  };

  const send = async (messageId: string, queue: string, content: Buffer): Promise<void> => {
    const channel = channels.current();
    // `ready` is false while the broker blocks publishers (memory or disk alarm): what is written then
    // would pile up in the socket's buffer, once more with each retry.
    if (!channel || !connection.ready) throw new Error('broker is down, nothing was published');
    const envelope = { routingKey: queue, mandatory: true, durable: true, messageId };
    const confirmed = channel.basicPublish({ ...envelope, contentType: 'application/json' }, content);
    await withTimeout(confirmed, confirmTimeoutMs, () => {
      throw new Error(`publish to ${queue} not confirmed in ${confirmTimeoutMs} ms`);
    });
    // An unroutable message is returned and then confirmed; the library resolves the confirm at once but
    // emits the return from a setImmediate that was queued before it.
    await immediate();
    if (inFlight.get(messageId)?.returned) throw new NoSuchQueue(queue);
  };

  return {
    async publish(queue, body) {
      if (closing) throw new Error('broker is closed');
      const json = JSON.stringify(body);
      if (json === undefined) throw new TypeError('the body has no JSON form');
      sequence += 1;
      const messageId = String(sequence);
      const entry: InFlight = { returned: false, done: Promise.resolve() };
      inFlight.set(messageId, entry);
      const sent = send(messageId, queue, Buffer.from(json)).finally(() => inFlight.delete(messageId));
      entry.done = sent.catch(() => {});
      return sent;
    },
    ready: channels.ready,
    isUp: () => channels.current() !== null && connection.ready,
    async close() {
      closing = true;
      await Promise.all([...inFlight.values()].map((publish) => publish.done));
      await channels.close();
    },
  };
}
