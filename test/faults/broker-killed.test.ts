import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import { startRabbit } from '../support/rabbitmq.ts';
import { sized } from '../support/size.ts';
import { connectInstances, proveExactlyOnce, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const SENDS = sized(400, 1_000, 10_000);
const AWAY_MS = sized(3_000, 3_000, 30_000);
const INSTANCES = 20;
/** The sending lasts twice as long as the broker is away, and some seconds more for its starts. */
const PAUSE_MS = ((2 * AWAY_MS + 10_000) * INSTANCES) / SENDS;

test(`the broker is killed for ${AWAY_MS / 1000} s under load, then wiped: accepts continue, each message goes out once, in order`, async (t) => {
  const broker = await startRabbit();
  t.after(() => broker.stop());
  const system = await useSystem(t, { workers: 2, amqpUrl: broker.url });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const perInstance = SENDS / INSTANCES;
  const killed = Promise.withResolvers<void>();
  const traffic = sendTexts(system, company, instances, perInstance, async (nth) => {
    await delay(PAUSE_MS);
    // A broker on a slow disk takes long to end; the remaining messages are sent without it.
    if (nth >= perInstance * 0.4) await killed.promise;
  });
  await waitFor(() => traffic.accepted() > SENDS * 0.2, 120_000);
  await broker.kill();
  killed.resolve();
  const before = traffic.accepted();
  await delay(AWAY_MS);
  await waitFor(() => traffic.accepted() > before, 60_000, {
    what: 'accepts are answered while the broker is away',
  });
  const whileAway = traffic.accepted() - before;
  await broker.restart();
  await waitFor(() => traffic.accepted() > SENDS * 0.6 || traffic.accepted() === SENDS, 120_000);
  await broker.wipe();
  const accepted = await traffic.done;
  assert.deepEqual([...traffic.refusals], [], 'every accept was answered 202 at once');
  await proveExactlyOnce(system, instances, accepted);
  t.diagnostic(
    `accepted while the broker was away: ${whileAway}; slowest accept ${Math.round(traffic.slowestMs())} ms`,
  );
});
