import { after, before, test } from 'node:test';
import { createTestDatabase } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { type System, startSystem } from '../support/system.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, SCALE, sendTexts } from './traffic.ts';

const SENDS = Math.round(10_000 * SCALE);
const KILLS = Math.max(3, Math.round(25 * SCALE));
const INSTANCES = 20;

let system: System;
let drop: () => Promise<void>;
before(async () => {
  const database = await createTestDatabase();
  drop = database.drop;
  const { url: amqpUrl } = await createTestVhost();
  system = await startSystem({ databaseUrl: database.url, amqpUrl, workers: 2 });
});
after(async () => {
  await system.stop();
  await drop();
});

test(`a worker killed ${KILLS} times during ${SENDS} sends over ${INSTANCES} instances: each reaches the network once, in order`, async (t) => {
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, SENDS / INSTANCES);
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await waitFor(() => traffic.accepted() >= (SENDS * kill) / (KILLS + 1), 300_000, {
      what: `kill ${kill}`,
    });
    const victim = system.workers[kill % system.workers.length]!;
    await victim.kill('SIGKILL');
    await victim.restart();
  }
  const accepted = await traffic.done;
  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  await proveOneSessionEach(system);
  t.diagnostic(
    `repeats that the network dropped: ${repeatsDropped}; refusals: ${JSON.stringify([...traffic.refusals])}`,
  );
});
