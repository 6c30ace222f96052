import { test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { connectInstances, proveExactlyOnce, SCALE, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const ACCEPTS = Math.round(5_000 * SCALE);
const KILLS = Math.max(3, Math.round(20 * SCALE));
const INSTANCES = 20;
/** A kill and the start after it take about two seconds; the sending goes on all that time. */
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
