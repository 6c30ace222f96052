import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import { startRabbit } from '../support/rabbitmq.ts';
import { connectInstances, proveExactlyOnce, SCALE, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const SENDS = Math.round(10_000 * SCALE);
const AWAY_MS = 30_000 * SCALE;
const INSTANCES = 20;
/** The sending lasts twice as long as the broker is away, and some seconds for its starts. */
const PAUSE_MS = ((2 * AWAY_MS + 10_000) * INSTANCES) / SENDS;

test(`the broker killed for ${AWAY_MS / 1000} s under load, then wiped: accepts go on, each message once, in order`, async (t) => {
  const broker = await startRabbit();
  t.after(() => broker.stop());
  const system = await useSystem(t, { workers: 2, amqpUrl: broker.url });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, SENDS / INSTANCES, PAUSE_MS);
  await waitFor(() => traffic.accepted() > SENDS * 0.2, 120_000);
  await broker.kill();
  const before = traffic.accepted();
  await delay(AWAY_MS);
  const whileAway = traffic.accepted() - before;
  assert.ok(whileAway > 0, 'accepts were answered while the broker was away');
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
