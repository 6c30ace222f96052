import { Connection } from 'rabbitmq-client';
import type { Log } from '../process/log.ts';
import type { Broker, Consumer } from './broker.ts';
import { nodesOf } from './broker-url.ts';
import { atMost } from './rabbitmq-channel.ts';
import { type ConsumerOptions, startConsumer } from './rabbitmq-consumer.ts';
import { startPublisher } from './rabbitmq-publisher.ts';
import { checkQueue, declareQueues, persist } from './rabbitmq-queues.ts';

/** setTimeout's longest: waiting for a connection ends with the connection or with close(). */
const FOR_EVER_MS = 2 ** 31 - 1;

export interface RabbitBrokerOptions {
  /** `amqp://` or `amqps://`, with credentials and virtual host, of one node or as `brokerUrl` gives it. */
  url: string;
  log: Log;
  /** A connection was lost. */
  onLost?: () => void;
  /** A publish that is not confirmed by then is rejected; it may have arrived all the same. */
  confirmTimeoutMs?: number;
}

/**
 * The broker port on RabbitMQ, 3.10 to 4.x: durable quorum queues, publisher confirms, mandatory
 * messages, manual acknowledgement. Connects in the background and reconnects forever: `publish`
 * rejects at once while the broker is away, `declare` and `consume` wait for it.
 *
 * Two connections, because a broker short of memory or disk stops reading from the connections that
 * publish: acknowledgements must not be stuck behind them, or the queues could never drain.
 */
export function createRabbitBroker(options: RabbitBrokerOptions): Broker {
  const { url, log, onLost, confirmTimeoutMs = 5_000 } = options;
  const declared = new Set<string>();
  const consumers = new Set<Consumer>();
  const upListeners = new Set<() => void>();
  const closing = new AbortController();
  const publishing = connect({ url, log, onLost, name: 'posthorn publisher' });
  const isBlocked = watchBlocking(publishing);
  let consuming: Connection | undefined;
  const unblocked = () => {
    consuming ??= connect({ url, log, onLost, name: 'posthorn consumer' });
    return consuming;
  };

  const publisher = startPublisher({
    connection: publishing,
    log,
    confirmTimeoutMs,
    declared,
    signal: closing.signal,
    onUp() {
      log.info('broker is up');
      for (const listener of upListeners) listener();
    },
  });

  async function consume(options: Omit<ConsumerOptions, 'log' | 'signal'>): Promise<Consumer> {
    const { signal } = closing;
    signal.throwIfAborted();
    const consumer = await startConsumer({ ...options, log, signal });
    consumers.add(consumer);
    if (signal.aborted) await consumer.close();
    return {
      async close() {
        await consumer.close();
        consumers.delete(consumer);
      },
    };
  }

  return {
    async declare(queues) {
      // A caller may publish once declare resolves, so the publisher must be ready.
      await publisher.ready;
      // Over the one that is never blocked: a worker that starts during an alarm declares too.
      await persist(() => declareQueues(unblocked(), queues), closing.signal);
      for (const queue of queues) declared.add(queue);
    },
    publish: publisher.publish,
    async consume(queue, { prefetch }, handle) {
      closing.signal.throwIfAborted();
      const connection = unblocked();
      if (!declared.has(queue)) await persist(() => checkQueue(connection, queue), closing.signal);
      return consume({ connection, queue, prefetch, handle });
    },
    consumeOwn: ({ prefetch }, handle, onQueue) =>
      consume({ connection: unblocked(), queue: null, prefetch, handle, onQueue }),
    isUp: () => publisher.isUp() && consuming?.ready !== false,
    isBlocked: () => isBlocked() && consuming?.ready !== false,
    onUp(listener) {
      upListeners.add(listener);
    },
    async close() {
      closing.abort(new Error('broker is closed'));
      await Promise.all([...consumers].map((consumer) => consumer.close()));
      await publisher.close();
      await Promise.all([publishing, consuming].map((connection) => connection && disconnect(connection)));
    },
  };
}

function connect({
  url,
  log,
  onLost,
  name,
}: Pick<RabbitBrokerOptions, 'url' | 'log' | 'onLost'> & { name: string }): Connection {
  const nodes = nodesOf(url);
  const connection = new Connection({
    url,
    // In turn: after the loss of a node the next attempt is at the next one.
    ...(nodes ? { hosts: nodes } : {}),
    connectionName: name,
    acquireTimeout: FOR_EVER_MS,
    connectionTimeout: 5_000,
    // Two missed beats a side: a peer that vanished is noticed within 20 s.
    heartbeat: 10,
    retryLow: 100,
    retryHigh: 3_000,
    // The broker's own default; the library's 8 kB would cut a message into many frames.
    frameMax: 131_072,
  });
  let wasUp = false;
  connection.on('connection', () => {
    wasUp = true;
  });
  // The first failure of a row only, the library keeps quiet about the retries.
  connection.on('error', (err) => {
    onLost?.();
    const what = wasUp
      ? 'broker connection lost, reconnecting'
      : 'the broker of AMQP_URL is not reached, trying again';
    log.warn({ err, connection: name }, what);
  });
  connection.on('connection.blocked', (reason) =>
    log.warn({ reason, connection: name }, 'broker blocks publishers'),
  );
  connection.on('connection.unblocked', () =>
    log.info({ connection: name }, 'broker accepts publishers again'),
  );
  return connection;
}

/** The connection stands, and the broker reads nothing from it. */
function watchBlocking(connection: Connection): () => boolean {
  let blocked = false;
  const set = (value: boolean) => () => {
    blocked = value;
  };
  connection.on('connection.blocked', set(true));
  connection.on('connection.unblocked', set(false));
  // Lost, or made anew.
  connection.on('error', set(false));
  connection.on('connection', set(false));
  return () => blocked;
}

async function disconnect(connection: Connection): Promise<void> {
  await atMost(connection.close());
  connection.unsafeDestroy();
}
