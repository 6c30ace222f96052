import { test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { connectInstances, proveExactlyOnce, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const ACCEPTS = sized(200, 500, 5_000);
const KILLS = sized(2, 3, 20);
const INSTANCES = 20;
/** A kill and the start after it take about two seconds; the sending lasts all that time. */
const PAUSE_MS = (KILLS * 2_000 * INSTANCES) / ACCEPTS;

test(`the API killed ${KILLS} times during ${ACCEPTS} accepts whose clients repeat the same key: each message once`, async (t) => {
  const system = await useSystem(t);
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, ACCEPTS / INSTANCES, PAUSE_MS);
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await waitFor(() => traffic.accepted() >= (ACCEPTS * kill) / (KILLS + 1), 300_000, {
      what: `kill ${kill}`,
    });
    await system.messaging[0]!.kill('SIGKILL');
    await system.messaging[0]!.restart();
  }
  const accepted = await traffic.done;
  await proveExactlyOnce(system, instances, accepted);
  t.diagnostic(`refusals: ${JSON.stringify([...traffic.refusals])}`);
});
