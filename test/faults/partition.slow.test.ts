import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openBreakableLink } from '../support/breakable-link.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { knownWorkers } from './hurt-workers.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

/** Too short for anybody to notice: data on its way arrives late. */
const BRIEF_MS = 4_000;
const CUT_MS = sized(20_000, 20_000, 60_000);
const INSTANCES = 16;
const PAUSE_MS = 400;
/** The time before the sending is measured, and after the cut. */
const REST_MS = 15_000;
const AIM_MS = 15_000;

test(`a worker that is cut off from the database for ${BRIEF_MS / 1000} s, then for ${CUT_MS / 1000} s, under load: another one takes over, each message goes out once, in order`, async (t) => {
  const system = await useSystem(t);
  const { hostname, port } = new URL(system.env.DATABASE_URL!);
  const link = await openBreakableLink({ host: hostname, port: Number(port) });
  t.after(() => link.close());
  const throughLink = new URL(system.env.DATABASE_URL!);
  throughLink.port = String(link.port);
  const cutOff = await system.addWorker({ env: { DATABASE_URL: throughLink.href } });
  const { company, instances } = await connectInstances(system, INSTANCES);
  /** The number of shards of the worker behind the link; 16 is half of all. */
  const shardsOf = async () => {
    const known = (await knownWorkers(system)).find(({ process }) => process.pid() === cutOff.pid());
    const { rows } = await system.db.query<{ n: number }>(
      'SELECT count(*)::integer AS n FROM shards WHERE owner_id = $1',
      [known?.id ?? null],
    );
    return rows[0]!.n;
  };
  await waitFor(async () => (await shardsOf()) === 16, 60_000, { what: 'both workers have their share' });
  const lastsMs = BRIEF_MS + CUT_MS + 2 * REST_MS;
  const traffic = sendTexts(system, company, instances, Math.round(lastsMs / PAUSE_MS), PAUSE_MS);
  await waitFor(() => traffic.accepted() > INSTANCES * 3);

  link.cut();
  await delay(BRIEF_MS);
  link.heal('late');
  await delay(REST_MS / 2);
  await waitFor(async () => (await shardsOf()) === 16, 60_000, { what: 'both have their share again' });

  link.cut();
  const cutAtMs = performance.now();
  await waitFor(async () => (await shardsOf()) === 0, 60_000, { what: 'the other one has taken over' });
  const tookOverMs = performance.now() - cutAtMs;
  const sentSoFar = async () => {
    const { rows } = await system.db.query<{ n: number }>(
      'SELECT count(*)::integer AS n FROM messages WHERE sent_at IS NOT NULL',
    );
    return rows[0]!.n;
  };
  const [before, accepted] = [await sentSoFar(), traffic.accepted()];
  await delay(Math.max(0, CUT_MS - (performance.now() - cutAtMs)));
  assert.ok((await sentSoFar()) > before, 'sends go on while the worker is cut off');
  assert.ok(traffic.accepted() > accepted, 'so do accepts');
  link.heal('lost');
  await waitFor(async () => (await shardsOf()) === 16, 60_000, { what: 'it has its share again' });

  const ids = await traffic.done;
  assert.deepEqual([...traffic.refusals], [], 'every accept was answered 202 at once');
  const { repeatsDropped } = await proveExactlyOnce(system, instances, ids);
  await proveOneSessionEach(system);
  tellFigure('the cut-off worker has lost its shards after', tookOverMs, { atMost: AIM_MS });
  t.diagnostic(`${traffic.accepted()} messages, ${repeatsDropped} repeats dropped by the network`);
});
