import { test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, proveUsage, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const SENDS = sized(400, 1_000, 10_000);
const KILLS = sized(2, 3, 25);
const INSTANCES = 20;
/** A kill and the start after it take about two seconds; the sending lasts all that time. */
const PAUSE_MS = (KILLS * 2_000 * INSTANCES) / SENDS;

test(`a worker killed ${KILLS} times during ${SENDS} sends over ${INSTANCES} instances: each reaches the network once, in order`, async (t) => {
  const system = await useSystem(t, { workers: 2 });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, SENDS / INSTANCES, PAUSE_MS);
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
  await proveUsage(system, company, accepted);
  t.diagnostic(
    `repeats that the network dropped: ${repeatsDropped}; refusals: ${JSON.stringify([...traffic.refusals])}`,
  );
});
