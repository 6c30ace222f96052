import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from 'rabbitmq-client';

/**
 * Quorum queues drop a message after their delivery limit: none by default before RabbitMQ 4.0, 20 from
 * then on. "No limit" has no value that 3.10 and 4.x both take (-1 is refused before 4.0), so the
 * highest 32-bit number stands for it. With a limit set, a returned message goes back near the head of
 * its queue, without one to the tail. An operator's policy can lower the limit; what such a policy drops
 * is published again by the sweep, for the database is the truth.
 */
const DELIVERY_LIMIT = 2 ** 31 - 1;
const RETRY_MS = 200;

/** The same on every declaration: RabbitMQ refuses one whose arguments differ. */
export function queueArguments(queue: string) {
  return {
    queue,
    durable: true,
    arguments: { 'x-queue-type': 'quorum' as const, 'x-delivery-limit': DELIVERY_LIMIT },
  };
}

/** Another name each time: the broker may not have noticed yet that the connection of the last one is gone. */
export function ownQueueName(): string {
  return `posthorn.owner.${randomUUID()}`;
}

/** On one node and in memory: it ends with its connection, and no replica has to agree on it. */
export function ownQueueArguments(queue: string) {
  return { queue, durable: false, exclusive: true, autoDelete: true };
}

/** Declares the queues once. Rejects with the broker's error when one is refused. */
export async function declareQueues(connection: Connection, queues: Iterable<string>): Promise<void> {
  const channel = await connection.acquire();
  try {
    for (const queue of queues) await channel.queueDeclare(queueArguments(queue));
  } finally {
    await channel.close();
  }
}

/** Rejects with NOT_FOUND when the queue does not exist. */
export async function checkQueue(connection: Connection, queue: string): Promise<void> {
  const channel = await connection.acquire();
  try {
    await channel.queueDeclare({ queue, passive: true });
  } finally {
    await channel.close();
  }
}

/** Errors that say what is wrong with the request itself: trying again would give the same answer. */
const FINAL_CODES = new Set(['PRECONDITION_FAILED', 'NOT_FOUND', 'ACCESS_REFUSED', 'NOT_ALLOWED']);

/** Runs `work` again while the connection comes and goes, until it succeeds, is refused or `signal` fires. */
export async function persist(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (err) {
      const code = (err as { code?: unknown }).code;
      if (signal.aborted || (typeof code === 'string' && FINAL_CODES.has(code))) throw err;
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}
