import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { startRabbitCluster } from '../support/rabbitmq.ts';
import { sized } from '../support/size.ts';
import type { SystemWorker } from '../support/system.ts';
import { connectInstances, merge, proveExactlyOnce, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const AWAY_MS = sized(3_000, 5_000, 60_000);
const INSTANCES = 10;
const PAUSE_MS = 250;
const NODES = 3;
/** How many replicated queues there are, and how many nodes have each. */
const REPLICAS = `
  Queues = [Queue || Queue <- rabbit_amqqueue:list(), amqqueue:get_type(Queue) =:= rabbit_quorum_queue],
  Nodes = [length(maps:get(nodes, amqqueue:get_type_state(Queue))) || Queue <- Queues],
  [{length(Queues), lists:usort(Nodes)}].`;
/** The time until every worker has a connection to another node. */
const AIM_MS = 10_000;

test(`each of ${NODES} RabbitMQ nodes is killed for ${AWAY_MS / 1000} s under load: no accept fails, the workers continue with the others, each message goes out once, in order`, async (t) => {
  const nodes = await startRabbitCluster();
  t.after(() => Promise.all(nodes.map((node) => node.stop())));
  const hosts = nodes.map(({ url }) => new URL(url).host).join(',');
  const system = await useSystem(t, { workers: 2, amqpUrl: `amqp://guest:guest@${hosts}` });
  assert.equal((await nodes[0]!.ctl('eval', REPLICAS)).trim(), `[{33,[${NODES}]}]`);
  const { company, instances } = await connectInstances(system, INSTANCES);

  let accepted = new Map<string, string[]>(instances.map(({ id }) => [id, []]));
  const refusals: string[] = [];
  let slowestMs = 0;
  for (const [nth, node] of nodes.entries()) {
    // Each round writes to other people, because the guard lets only two messages of one sender pass.
    const inOrder = instances.map((_, i) => instances[(i + nth) % INSTANCES]!);
    const perInstance = Math.round((AWAY_MS + 30_000) / PAUSE_MS);
    const traffic = sendTexts(system, company, inOrder, perInstance, PAUSE_MS);
    await waitFor(() => traffic.accepted() > INSTANCES * 2);
    await node.kill();
    const killedAtMs = performance.now();
    await waitFor(
      async () => (await Promise.all(system.workers.map(brokerOf))).every((said) => said === 'ok'),
      60_000,
      {
        what: 'every worker has its broker',
      },
    );
    tellFigure(`node ${nth + 1} killed: every worker has its broker after`, performance.now() - killedAtMs, {
      atMost: AIM_MS,
    });
    await delay(AWAY_MS);
    assert.deepEqual(await Promise.all(system.workers.map(brokerOf)), ['ok', 'ok'], 'while the node is away');
    await node.restart();
    accepted = merge(accepted, await traffic.done);
    refusals.push(...traffic.refusals.keys());
    slowestMs = Math.max(slowestMs, traffic.slowestMs());
  }
  assert.deepEqual(refusals, [], 'every accept was answered 202 at once');
  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  const sent = [...accepted.values()].flat().length;
  console.log(
    `${sent} messages, slowest accept ${Math.round(slowestMs)} ms, ${repeatsDropped} repeats dropped by the network`,
  );
});

async function brokerOf(worker: SystemWorker): Promise<string | undefined> {
  const answer = await fetch(`${worker.url}/ready`);
  return ((await answer.json()) as { checks: Record<string, string> }).checks.broker;
}
