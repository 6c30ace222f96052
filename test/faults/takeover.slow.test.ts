import { test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import type { System } from '../support/system.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

/** How many shards each live worker holds, read from the locks themselves. */
async function sharesOfShards(system: System): Promise<number[]> {
  const held = await system.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM pg_locks
     WHERE locktype = 'advisory' AND classid = 7202 AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
     GROUP BY pid ORDER BY n`,
  );
  return held.rows.map((row) => row.n);
}

test('a killed worker loses its shards to the other one within 10 s; a third one joins and all is even within 30 s', async (t) => {
  const system = await useSystem(t, { workers: 2 });
  await waitFor(async () => String(await sharesOfShards(system)) === '16,16', 60_000, {
    what: 'two workers share evenly',
  });
  const { company, instances } = await connectInstances(system, 20);
  const traffic = sendTexts(system, company, instances, 60);
  await waitFor(() => traffic.accepted() > 200, 120_000);

  const killedAt = performance.now();
  await system.workers[0]!.kill('SIGKILL');
  await waitFor(async () => String(await sharesOfShards(system)) === '32', 60_000, {
    what: 'the survivor owns every shard',
  });
  const tookOverMs = performance.now() - killedAt;

  await system.workers[0]!.restart();
  await system.addWorker();
  const joinedAt = performance.now();
  await waitFor(async () => String(await sharesOfShards(system)) === '10,11,11', 90_000, {
    what: 'three workers share evenly',
  });
  const evenMs = performance.now() - joinedAt;

  const accepted = await traffic.done;
  await proveExactlyOnce(system, instances, accepted);
  await proveOneSessionEach(system);
  tellFigure('taken over', tookOverMs, { atMost: 10_000 });
  tellFigure('even after the third was ready', evenMs, { atMost: 30_000 });
});
