import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { startRabbit } from '../support/rabbitmq.ts';
import { RABBIT_ALARMS } from '../support/rabbitmq-server.ts';
import { sized } from '../support/size.ts';
import type { SystemWorker } from '../support/system.ts';
import { connectInstances, merge, proveExactlyOnce, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const INSTANCES = 4;
const PER_INSTANCE = sized(30, 30, 300);

for (const { short, raise, clear } of RABBIT_ALARMS)
  test(`RabbitMQ is short of ${short}: every worker is ready, also after its restart, reports why, and sends continue`, async (t) => {
    const rabbit = await startRabbit();
    t.after(() => rabbit.stop());
    const system = await useSystem(t, { workers: 2, amqpUrl: rabbit.url });
    const { company, instances } = await connectInstances(system, INSTANCES);
    await rabbit.ctl(...raise);
    const ready = async (worker: SystemWorker) => {
      const answer = await fetch(`${worker.url}/ready`);
      const { checks } = (await answer.json()) as { checks: Record<string, string> };
      return { status: answer.status, broker: checks.broker! };
    };
    const traffic = sendTexts(system, company, instances, PER_INSTANCE, 100);
    // A rolling update: each restarts during the alarm and becomes ready, or `restart` rejects.
    for (const worker of system.workers) await worker.restart();
    const sent = await traffic.done;
    // RabbitMQ blocks publishers, and the owner of shard 0 publishes the rows that wait for longer than a moment. After
    // the restarts the shards are shared anew, so its owner may change, and both workers may have published.
    system.sandbox.signal('SIGSTOP');
    // In another order, so that nobody gets a third message of one account, which the guard would refuse.
    const waiting = sendTexts(system, company, [...instances].reverse(), 2);
    await waitFor(
      async () => {
        const told = await Promise.all(system.workers.map(ready));
        for (const { status, broker } of told) {
          assert.equal(status, 200, broker);
          assert.match(broker, /^ok$|^ok, but RabbitMQ is short of memory or disk/);
        }
        return told.some(({ broker }) => broker !== 'ok');
      },
      60_000,
      { what: 'the owner of shard 0 has published, and says that it is blocked', everyMs: 200 },
    ).finally(() => system.sandbox.signal('SIGCONT'));
    await proveExactlyOnce(system, instances, merge(sent, await waiting.done));
    for (const worker of system.workers) assert.equal((await ready(worker)).status, 200);
    await rabbit.ctl(...clear);
    for (const worker of system.workers) await waitFor(async () => (await ready(worker)).broker === 'ok');
  });
