/**
 * The transport between processes. The database is the truth: whatever a broker loses, delays or
 * repeats is published again or dropped by its consumer, so the port asks for little.
 */
export interface Broker {
  /** Makes the durable queues exist; waits for a broker that is away. Safe to call again. */
  declare(queues: readonly string[]): Promise<void>;
  /**
   * Resolves once the broker has confirmed that the message is stored in `queue`. Rejects when it was returned
   * ({@link NoSuchQueue}), refused, or not confirmed within the adapter's own time-out; then it counts as not
   * published.
   */
  publish(queue: string, body: unknown): Promise<void>;
  /**
   * Delivers as `consume` does, from a queue that ends with its consumer and loses the messages that it holds. After a
   * lost connection a new queue is made: `onQueue` gets the name of each queue once it delivers. Waits for an
   * unreachable broker.
   */
  consumeOwn(
    options: ConsumeOptions,
    handle: (body: unknown) => Promise<void>,
    onQueue: (queue: string) => void,
  ): Promise<Consumer>;
  /**
   * Delivers each message to `handle`; resolving acks it, throwing returns it to the queue after a short pause.
   * Waits for a broker that is away; rejects when the queue does not exist.
   */
  consume(
    queue: string,
    options: ConsumeOptions,
    handle: (body: unknown) => Promise<void>,
  ): Promise<Consumer>;
  /** True while the connection is up and messages are taken. */
  isUp(): boolean;
  /**
   * True while it is there, delivers, and takes no messages, for want of memory or disk. Nothing waits for that:
   * owners look for their work by themselves.
   */
  isBlocked(): boolean;
  /** Called each time the connection comes (back) up: the relay sweeps at once instead of by timer. */
  onUp(listener: () => void): void;
  close(): Promise<void>;
}

/** A message was published to a queue that is not there. */
export class NoSuchQueue extends Error {
  constructor(queue: string) {
    super(`no such queue: ${queue}`);
    this.name = 'NoSuchQueue';
  }
}

export interface ConsumeOptions {
  /** Unacked messages in flight at most. */
  prefetch: number;
}

export interface Consumer {
  /** Stops deliveries and resolves when the handlers that were running have ended. */
  close(): Promise<void>;
}
