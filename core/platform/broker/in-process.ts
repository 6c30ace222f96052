import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Broker, NoSuchQueue } from './broker.ts';
import { createRequeuePause } from './requeue-pause.ts';

interface Subscription {
  prefetch: number;
  inFlight: number;
  deliver: (json: string) => void;
}

/** `waiting` is read from `head` on and compacted now and then: Array.shift is slow on long arrays. */
interface Queue {
  waiting: string[];
  head: number;
  /** Taken in turn. */
  subscriptions: Subscription[];
}

const COMPACT_FROM = 1_024;

/**
 * The broker port inside one process, for standalone. Queues live in memory and die with the process:
 * the database is the truth, and what was published but never finished is published again.
 *
 * Bodies are kept as JSON, so that a handler gets what it would get over a real broker and never shares
 * an object with the publisher.
 */
// long: its functions share the queues
export function createInProcessBroker(): Broker {
  const queues = new Map<string, Queue>();
  const closing = new AbortController();
  const consumers = new Set<() => Promise<void>>();

  const find = (name: string): Queue => {
    if (closing.signal.aborted) throw new Error('broker is closed');
    const queue = queues.get(name);
    if (!queue) throw new NoSuchQueue(name);
    return queue;
  };

  const consume: Broker['consume'] = async (name, { prefetch }, handle) => {
    const queue = find(name);
    const stopping = new AbortController();
    const running = new Set<Promise<void>>();
    const pause = createRequeuePause();

    const work = async (json: string) => {
      // Never inside publish(): a handler starts with a clean stack, as it would over a real broker.
      await null;
      try {
        await handle(JSON.parse(json));
        pause.reset();
      } catch {
        await delay(pause.next(), undefined, { signal: stopping.signal }).catch(() => {});
        putBack(queue, json);
      }
      subscription.inFlight -= 1;
      pump(queue);
    };
    const subscription: Subscription = {
      prefetch,
      inFlight: 0,
      deliver(json) {
        const run = work(json).finally(() => running.delete(run));
        running.add(run);
      },
    };
    const stop = async () => {
      stopping.abort();
      queue.subscriptions = queue.subscriptions.filter((other) => other !== subscription);
      consumers.delete(stop);
      await Promise.all(running);
    };
    consumers.add(stop);
    queue.subscriptions.push(subscription);
    pump(queue);
    return { close: stop };
  };

  return {
    async declare(names) {
      for (const name of names) {
        if (!queues.has(name)) queues.set(name, newQueue());
      }
    },
    async publish(name, body) {
      const queue = find(name);
      const json = JSON.stringify(body);
      if (json === undefined) throw new TypeError('the body has no JSON form');
      queue.waiting.push(json);
      pump(queue);
    },
    consume,
    async consumeOwn(options, handle, onQueue) {
      const name = `own.${randomUUID()}`;
      queues.set(name, newQueue());
      const consumer = await consume(name, options, handle);
      onQueue(name);
      return {
        close() {
          queues.delete(name);
          return consumer.close();
        },
      };
    },
    isUp: () => !closing.signal.aborted,
    isBlocked: () => false,
    // It was never away, so it never comes back.
    onUp() {},
    async close() {
      closing.abort();
      await Promise.all([...consumers].map((stop) => stop()));
    },
  };
}

function newQueue(): Queue {
  return { waiting: [], head: 0, subscriptions: [] };
}

/** Hands waiting messages to the subscriptions that have room, each in its turn. */
function pump(queue: Queue): void {
  while (queue.head < queue.waiting.length) {
    const at = queue.subscriptions.findIndex((candidate) => candidate.inFlight < candidate.prefetch);
    const [subscription] = at < 0 ? [] : queue.subscriptions.splice(at, 1);
    if (!subscription) return;
    queue.subscriptions.push(subscription);
    const json = queue.waiting[queue.head] as string;
    queue.head += 1;
    subscription.inFlight += 1;
    subscription.deliver(json);
    if (queue.head >= COMPACT_FROM && queue.head * 2 >= queue.waiting.length) {
      queue.waiting = queue.waiting.slice(queue.head);
      queue.head = 0;
    }
  }
}

/** To the head: a message that is tried again keeps its place before the later ones. */
function putBack(queue: Queue, json: string): void {
  if (queue.head > 0) {
    queue.head -= 1;
    queue.waiting[queue.head] = json;
  } else {
    queue.waiting.unshift(json);
  }
}
