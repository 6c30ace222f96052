import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createTestDatabase } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { startRabbit } from '../support/rabbitmq.ts';
import type { RabbitServer } from '../support/rabbitmq-server.ts';
import { type System, startSystem } from '../support/system.ts';
import { connectInstances, proveExactlyOnce, SCALE, sendTexts } from './traffic.ts';

const SENDS = Math.round(10_000 * SCALE);
const AWAY_MS = 30_000 * SCALE;
const INSTANCES = 20;

let broker: RabbitServer;
let system: System;
let drop: () => Promise<void>;
before(async () => {
  const database = await createTestDatabase();
  drop = database.drop;
  broker = await startRabbit();
  system = await startSystem({ databaseUrl: database.url, amqpUrl: broker.url, workers: 2 });
});
after(async () => {
  await system.stop();
  await broker.stop();
  await drop();
});

test(`the broker killed for ${AWAY_MS / 1000} s under load, then wiped: accepts go on, each message once, in order`, async (t) => {
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, SENDS / INSTANCES);
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
