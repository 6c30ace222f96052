import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { tellFigure } from '../support/figures.ts';
import { freePort, waitFor } from '../support/process.ts';
import { startRabbit } from '../support/rabbitmq.ts';
import { RABBIT_ALARMS, type RabbitServer, speaksAmqp } from '../support/rabbitmq-server.ts';

const log = createLog({ level: process.env.LOG_LEVEL ?? 'silent', role: 'test' });
const RECOVERY_MS = 30_000;

describe('RabbitMQ that fails', () => {
  let rabbit: RabbitServer;
  let broker: Broker;
  const open: Broker[] = [];
  const connect = (confirmTimeoutMs?: number) => {
    broker = createRabbitBroker({ url: rabbit.url, log, ...(confirmTimeoutMs && { confirmTimeoutMs }) });
    open.push(broker);
    return broker;
  };
  before(async () => {
    rabbit = await startRabbit();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
    // A test that failed may have left it killed, and the next ones would wait for it until their limit.
    if (!(await speaksAmqp(Number(new URL(rabbit.url).port)))) await rabbit.restart();
  });
  after(() => rabbit.stop());

  it('loses no confirmed message when it is killed, and the consumer continues by itself', async () => {
    connect();
    let ups = 0;
    broker.onUp(() => {
      ups += 1;
    });
    await broker.declare(['killed']);
    assert.equal(ups, 1);
    const confirmed = new Set<number>();
    const got = new Set<number>();
    await broker.consume('killed', { prefetch: 16 }, async (body) => {
      await delay(5);
      got.add(body as number);
    });

    let running = true;
    let n = 0;
    const sender = async () => {
      while (running) {
        n += 1;
        const mine = n;
        await broker.publish('killed', mine).then(
          () => confirmed.add(mine),
          () => delay(10),
        );
      }
    };
    const senders = Array.from({ length: 8 }, sender);
    await waitFor(() => confirmed.size > 200);
    await rabbit.kill();
    await waitFor(() => !broker.isUp());
    await rabbit.restart();
    await waitFor(() => broker.isUp(), RECOVERY_MS);
    const before = confirmed.size;
    await waitFor(() => confirmed.size > before + 100, RECOVERY_MS);
    running = false;
    await Promise.all(senders);

    await waitFor(() => [...confirmed].every((each) => got.has(each)), RECOVERY_MS);
    assert.equal(ups, 2);
  });

  it('rejects a publish at once while it is away, and may come up after the processes that use it', async () => {
    const early = connect();
    await early.declare(['away']);
    await rabbit.kill();
    // It is down once one of its two connections is lost. The other may still take a publish then, and fails it.
    await waitFor(() => assert.rejects(early.publish('away', 0), /down/).then(() => true));
    const since = performance.now();
    await assert.rejects(early.publish('away', 1), /down/);
    tellFigure('a publish while the broker is away', performance.now() - since, { atMost: 50 });

    const late = connect();
    const got: unknown[] = [];
    let ups = 0;
    late.onUp(() => {
      ups += 1;
    });
    assert.equal(late.isUp(), false);
    const ready = late
      .declare(['late'])
      .then(() => late.consume('late', { prefetch: 1 }, async (body) => void got.push(body)));
    await delay(500);
    await rabbit.restart();
    await ready;
    await late.publish('late', 1);
    await waitFor(() => got.length === 1);
    assert.equal(ups, 1);
    await waitFor(() => early.isUp(), RECOVERY_MS);
    await early.publish('away', 2);
  });

  it('makes its queues again and consumes on when all data was wiped', async () => {
    connect();
    const got: unknown[] = [];
    await broker.declare(['wiped', 'wiped-too']);
    await broker.consume('wiped', { prefetch: 4 }, async (body) => void got.push(body));
    await broker.publish('wiped', 'before');
    await waitFor(() => got.length === 1);
    // Like the relay, which publishes as soon as it learns that the broker is back.
    const published = new Promise<unknown>((resolve) =>
      broker.onUp(() =>
        resolve(Promise.all([broker.publish('wiped', 'after'), broker.publish('wiped-too', 1)])),
      ),
    );
    await rabbit.wipe();
    await published;
    await waitFor(() => got.length === 2);
    assert.deepEqual(got, ['before', 'after']);
  });

  it('rejects a publish that is not confirmed in time', async () => {
    connect(300);
    await broker.declare(['silent']);
    await rabbit.pause();
    try {
      const since = performance.now();
      await assert.rejects(broker.publish('silent', 1), /not confirmed in 300 ms/);
      const tookMs = performance.now() - since;
      assert.ok(tookMs >= 290, `rejected after ${Math.round(tookMs)} ms`);
      tellFigure('a publish without a confirmation', tookMs, { atMost: 1_500 });
    } finally {
      await rabbit.resume();
    }
    await waitFor(() => broker.publish('silent', 2).then(() => true));
  });

  it('makes a deleted queue again, and its consumer continues', async () => {
    connect();
    const got: unknown[] = [];
    await broker.declare(['deleted', 'deleted-unread']);
    await broker.consume('deleted', { prefetch: 1 }, async (body) => void got.push(body));
    await rabbit.ctl('delete_queue', 'deleted');
    await waitFor(() => broker.publish('deleted', 1).then(() => got.length > 0));
    // Nobody consumes this queue: its publisher learns of the loss from the returned message.
    await rabbit.ctl('delete_queue', 'deleted-unread');
    await waitFor(() => broker.publish('deleted-unread', 1).then(() => true));
  });

  it('reports a refused queue, and stays usable', async () => {
    connect();
    await assert.rejects(broker.declare(['amq.reserved']), /ACCESS_REFUSED|reserved/);
    await broker.declare(['allowed']);
    await broker.publish('allowed', 1);
  });

  for (const { short, raise, clear } of RABBIT_ALARMS)
    it(`drains its queues while it is short of ${short} and takes no publishes`, async () => {
      connect(1_000);
      const got = new Set<unknown>();
      const queue = `full-${short}`;
      const filling = Array.from({ length: 20 }, (_, n) => n);
      const gate = Promise.withResolvers<void>();
      await broker.declare([queue]);
      await broker.consume(queue, { prefetch: 2 }, async (body) => {
        await gate.promise;
        got.add(body);
      });
      // Some may come twice, when a publish waits for longer than its confirmation may take.
      for (const n of filling) await waitFor(() => broker.publish(queue, n).then(() => true));
      await rabbit.ctl(...raise);
      try {
        // The broker reports it with the next publish, which may still be the unconfirmed one.
        await waitFor(async () => {
          await broker.publish(queue, 'x').catch(() => {});
          return !broker.isUp();
        });
        await assert.rejects(broker.publish(queue, 'y'), /down/);
        assert.equal(broker.isBlocked(), true);
        // A declaration meanwhile takes effect, also from a process that has published already.
        await broker.declare([`${queue}-declared-meanwhile`]);
        gate.resolve();
        await waitFor(() => filling.every((n) => got.has(n)));
      } finally {
        await rabbit.ctl(...clear);
      }
      await waitFor(() => broker.isUp());
      assert.equal(broker.isBlocked(), false);
      await waitFor(() => broker.publish(queue, 'z').then(() => true));
    });

  it('closes in time when it has vanished without a word', async () => {
    connect(300);
    await broker.declare(['vanished']);
    await broker.consume('vanished', { prefetch: 1 }, async () => {});
    await rabbit.pause();
    try {
      const since = performance.now();
      await broker.close();
      assert.ok(performance.now() - since < 15_000);
    } finally {
      await rabbit.resume();
    }
  });

  it('closes at once when it was never there', async () => {
    const port = await freePort();
    const absent = createRabbitBroker({ url: `amqp://guest:guest@127.0.0.1:${port}`, log });
    const declared = assert.rejects(absent.declare(['never']), /clos/);
    const consumed = assert.rejects(
      absent.consume('never', { prefetch: 1 }, async () => {}),
      /clos/,
    );
    await delay(50);
    const since = performance.now();
    await absent.close();
    tellFigure('closing what was never there', performance.now() - since, { atMost: 500 });
    await Promise.all([declared, consumed]);
  });
});
