import { after, before, test } from 'node:test';
import { createTestDatabase } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { type System, startSystem } from '../support/system.ts';
import { connectInstances, proveExactlyOnce, SCALE, sendTexts } from './traffic.ts';

const ACCEPTS = Math.round(5_000 * SCALE);
const KILLS = Math.max(3, Math.round(20 * SCALE));
const INSTANCES = 20;

let system: System;
let drop: () => Promise<void>;
before(async () => {
  const database = await createTestDatabase();
  drop = database.drop;
  const { url: amqpUrl } = await createTestVhost();
  system = await startSystem({ databaseUrl: database.url, amqpUrl });
});
after(async () => {
  await system.stop();
  await drop();
});

test(`the API killed ${KILLS} times during ${ACCEPTS} accepts whose clients repeat the same key: each message once`, async (t) => {
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, ACCEPTS / INSTANCES);
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
