import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { controlOf } from '../network/sandbox-harness.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { createTerminator } from './hurt-workers.ts';
import { proveInboundOnce, proveReceiptsOnce, writeToInstances } from './inbound.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const RECEIVED = sized(400, 1_500, 15_000);
const SENT = sized(60, 180, 1_800);
const INSTANCES = 20;

interface Fire {
  workers: number;
  overMs: number;
  faults: ((system: System) => Promise<void>)[];
}

/** Messages come and go for `overMs`, with the faults spread over that time; then everything is counted. */
async function holdUnderFire(t: TestContext, { workers, overMs, faults }: Fire): Promise<System> {
  const system = await useSystem(t, { workers });
  await controlOf(system.sandboxUrl).post('/defaults', { auto_read: true, read_delay_ms: 200 });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const inbound = writeToInstances(system, instances, RECEIVED, overMs);
  const outbound = sendTexts(system, company, instances, SENT / INSTANCES, (overMs * INSTANCES) / SENT);
  for (const [nth, fault] of faults.entries()) {
    await waitFor(() => inbound.written() >= (RECEIVED * (nth + 0.5)) / faults.length, 600_000, {
      what: `fault ${nth}`,
    });
    await fault(system);
  }
  const accepted = await outbound.done;
  await proveInboundOnce(system, await inbound.done);
  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  await proveReceiptsOnce(system, accepted);
  t.diagnostic(
    `${RECEIVED} received, ${SENT} sent, ${faults.length} faults: 0 lost, 0 doubled; repeats dropped by the network: ${repeatsDropped}`,
  );
  return system;
}

const CUTS = sized(3, 6, 60);
const ENDS = sized(1, 2, 12);

test(`${RECEIVED} received messages while the lock connections are cut ${CUTS} times and all connections end ${ENDS} times: none lost, none twice`, async (t) => {
  const fire = (what: 'cutLocks' | 'endAll') => async (system: System) => {
    const terminator = createTerminator(system.env.DATABASE_URL!);
    await terminator[what]().finally(() => terminator.close());
  };
  const every = Math.round((CUTS + ENDS) / ENDS);
  const faults = Array.from({ length: CUTS + ENDS }, (_, nth) =>
    fire(nth % every === every - 1 ? 'endAll' : 'cutLocks'),
  );
  // A frozen process keeps its sessions until the next login ends them; a process that is cut off closes them first.
  await proveOneSessionEach(await holdUnderFire(t, { workers: 2, overMs: faults.length * 2_000, faults }));
});

const HURT = sized(2, 4, 16);
/** Long enough to be declared dead. */
const FROZEN_MS = 13_000;

test(`${RECEIVED} received messages while workers are killed and frozen ${HURT} times: none lost, none twice`, async (t) => {
  const kill = (nth: number) => async (system: System) => {
    const victim = system.workers[nth % system.workers.length]!;
    await victim.kill('SIGKILL');
    await victim.restart();
  };
  const freeze = (nth: number) => async (system: System) => {
    const victim = system.workers[nth % system.workers.length]!;
    victim.signal('SIGSTOP');
    await delay(FROZEN_MS);
    victim.signal('SIGCONT');
  };
  const faults = Array.from({ length: HURT }, (_, nth) => (nth % 2 === 0 ? kill(nth) : freeze(nth)));
  await holdUnderFire(t, { workers: 3, overMs: HURT * 10_000, faults });
});
