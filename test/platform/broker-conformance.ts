import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Broker, NoSuchQueue } from '@posthorn/core/platform/broker/broker.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';

/** Tests the promises of the broker port, on the adapter that `create` makes. */
export function testBroker(name: string, create: () => Promise<Broker>): void {
  describe(`broker: ${name}`, () => {
    let broker: Broker;
    before(async () => {
      broker = await create();
    });
    after(() => broker.close());

    const newQueue = async () => {
      const queue = `queue-${randomUUID()}`;
      await broker.declare([queue]);
      return queue;
    };

    it('is up once a queue is declared', async () => {
      await newQueue();
      assert.equal(broker.isUp(), true);
    });

    it('declares a queue again without an error and without losing its messages', async () => {
      const queue = await newQueue();
      await broker.publish(queue, { n: 1 });
      await broker.declare([queue, queue]);
      const got: unknown[] = [];
      const consumer = await broker.consume(queue, { prefetch: 10 }, async (body) => void got.push(body));
      await waitFor(() => got.length === 1);
      await consumer.close();
    });

    it('delivers every message once and in order, with the body that was published', async () => {
      const queue = await newQueue();
      const bodies = [
        { text: 'olá ✓ '.repeat(10_000), list: [1, null, { deep: true }] },
        'a plain string',
        42,
        null,
        ...Array.from({ length: 200 }, (_, n) => ({ n })),
      ];
      const got: unknown[] = [];
      const consumer = await broker.consume(queue, { prefetch: 1 }, async (body) => void got.push(body));
      await Promise.all(bodies.map((body) => broker.publish(queue, body)));
      await waitFor(() => got.length >= bodies.length);
      assert.deepEqual(got, bodies);
      await consumer.close();
    });

    it('keeps messages that were published before anybody consumes', async () => {
      const queue = await newQueue();
      for (let n = 0; n < 5; n += 1) await broker.publish(queue, n);
      const got: unknown[] = [];
      const consumer = await broker.consume(queue, { prefetch: 1 }, async (body) => void got.push(body));
      await waitFor(() => got.length === 5);
      assert.deepEqual(got, [0, 1, 2, 3, 4]);
      await consumer.close();
    });

    it('never hands out more messages at once than the prefetch', async () => {
      const queue = await newQueue();
      let running = 0;
      let most = 0;
      let done = 0;
      const gate = Promise.withResolvers<void>();
      const consumer = await broker.consume(queue, { prefetch: 3 }, async () => {
        running += 1;
        most = Math.max(most, running);
        await gate.promise;
        await delay(10);
        running -= 1;
        done += 1;
      });
      await Promise.all(Array.from({ length: 20 }, (_, n) => broker.publish(queue, n)));
      await waitFor(() => running >= 3);
      // Long enough for a fourth one to arrive.
      await delay(100);
      gate.resolve();
      await waitFor(() => done === 20);
      assert.equal(most, 3);
      await consumer.close();
    });

    it('delivers a message again when its handler throws, before the later ones', async () => {
      const queue = await newQueue();
      const got: unknown[] = [];
      for (const n of [1, 2, 3]) await broker.publish(queue, n);
      const consumer = await broker.consume(queue, { prefetch: 1 }, async (body) => {
        got.push(body);
        if (got.length <= 2) throw new Error('not now');
      });
      await waitFor(() => got.length === 5);
      assert.deepEqual(got, [1, 1, 1, 2, 3]);
      await consumer.close();
    });

    it('never gives a message up, however often its handler throws', async () => {
      const queue = await newQueue();
      await broker.publish(queue, 'stubborn');
      let tries = 0;
      // 25 is more than the 20 deliveries after which RabbitMQ 4 drops a message by default.
      const consumers = await Promise.all(
        Array.from({ length: 25 }, () =>
          broker.consume(queue, { prefetch: 1 }, async () => {
            tries += 1;
            if (tries <= 25) throw new Error('not now');
          }),
        ),
      );
      await waitFor(() => tries === 26);
      await Promise.all(consumers.map((consumer) => consumer.close()));
    });

    it('rejects a publish to a queue that does not exist', async () => {
      await assert.rejects(broker.publish(`missing-${randomUUID()}`, {}), /no such queue/);
    });

    it('rejects to consume a queue that does not exist', async () => {
      const consume = broker.consume(`missing-${randomUUID()}`, { prefetch: 1 }, async () => {});
      await assert.rejects(consume, /no such queue|no queue/);
    });

    it('rejects a body that has no JSON form', async () => {
      const queue = await newQueue();
      await assert.rejects(broker.publish(queue, undefined), TypeError);
    });

    it('spreads a queue over its consumers', async () => {
      const queue = await newQueue();
      const counts = [0, 0];
      const consumers = await Promise.all(
        counts.map((_, at) =>
          broker.consume(queue, { prefetch: 1 }, async () => {
            counts[at]! += 1;
            // The consumer with more messages waits for the other, so that a slow one does not get fewer.
            await waitFor(() => counts[1 - at]! >= counts[at]!);
          }),
        ),
      );
      await Promise.all(Array.from({ length: 40 }, (_, n) => broker.publish(queue, n)));
      await waitFor(() => counts[0]! + counts[1]! === 40);
      assert.deepEqual(counts, [20, 20]);
      await Promise.all(consumers.map((consumer) => consumer.close()));
    });

    it('ends a consumer after the handlers that run, and leaves the rest to the next one', async () => {
      const queue = await newQueue();
      const got: unknown[] = [];
      const release = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      const consumer = await broker.consume(queue, { prefetch: 1 }, async (body) => {
        started.resolve();
        await release.promise;
        got.push(body);
      });
      for (const n of [1, 2, 3]) await broker.publish(queue, n);
      await started.promise;
      const closed = consumer.close();
      assert.equal(await Promise.race([closed.then(() => 'closed'), delay(100, 'waits')]), 'waits');
      release.resolve();
      await closed;
      assert.deepEqual([...got], [1]);
      const next = await broker.consume(queue, { prefetch: 1 }, async (body) => void got.push(body));
      await waitFor(() => got.length === 3);
      assert.deepEqual(got, [1, 2, 3]);
      await next.close();
    });

    it('takes thousands of messages a second with many in flight', async () => {
      const queue = await newQueue();
      const total = 5_000;
      let got = 0;
      const since = performance.now();
      const consumer = await broker.consume(queue, { prefetch: 64 }, async () => {
        got += 1;
      });
      let next = 0;
      const sender = async () => {
        while (next < total) {
          next += 1;
          await broker.publish(queue, { n: next, pad: 'x'.repeat(200) });
        }
      };
      await Promise.all(Array.from({ length: 64 }, sender));
      await waitFor(() => got >= total, 60_000);
      assert.equal(got, total);
      const tookMs = performance.now() - since;
      tellFigure(`${total} messages with many in flight`, tookMs, { atMost: 10_000 });
      await consumer.close();
    });

    it('makes a queue that ends with its consumer, and then reports a message to it as lost', async () => {
      const got: unknown[] = [];
      const name = Promise.withResolvers<string>();
      const consumer = await broker.consumeOwn(
        { prefetch: 10 },
        async (body) => void got.push(body),
        name.resolve,
      );
      const queue = await name.promise;
      for (const n of [1, 2, 3]) await broker.publish(queue, n);
      await waitFor(() => got.length === 3);
      assert.deepEqual(got, [1, 2, 3]);
      await consumer.close();
      await assert.rejects(broker.publish(queue, 4), NoSuchQueue);
    });

    it('rejects once it is closed', async () => {
      const other = await create();
      const queue = `queue-${randomUUID()}`;
      await other.declare([queue]);
      await other.close();
      await assert.rejects(other.publish(queue, 1), /closed/);
      await assert.rejects(
        other.consume(queue, { prefetch: 1 }, async () => {}),
        /closed/,
      );
      assert.equal(other.isUp(), false);
      await other.close();
    });
  });
}
