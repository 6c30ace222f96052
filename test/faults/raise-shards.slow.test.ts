import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { startAdmin } from './admin-process.ts';
import { proveInboundOnce, writeToInstances } from './inbound.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const INSTANCES = sized(12, 60, 120);
const EACH = sized(60, 150, 300);
const PAUSE_MS = 150;

/** How many shards the live workers hold together, read from the locks themselves. */
async function lockedShards(system: System): Promise<number> {
  const { rows } = await system.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM pg_locks
     WHERE locktype = 'advisory' AND classid = 7202 AND granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]!.n;
}

async function raise(system: System, shards: number): Promise<void> {
  const { code, output } = await startAdmin(system, ['shards', String(shards), '--yes']).ended;
  assert.equal(code, 0, output);
  assert.match(
    output.trimEnd().split('\n').at(-1)!,
    new RegExp(`^${shards} shards, ${shards} of them with an owner, .*; every instance is in its shard$`),
  );
}

test('shards are raised from 32 to 64 and to 1,024 under load, with a worker killed meanwhile: each message goes both ways once and in order, and no account has two sessions', async (t) => {
  const system = await useSystem(t, { workers: 2 });
  await waitFor(async () => (await lockedShards(system)) === 32, 60_000, { what: 'all shards are owned' });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, EACH, PAUSE_MS);
  const inbound = writeToInstances(system, instances, INSTANCES * 10, EACH * PAUSE_MS);
  await waitFor(() => traffic.accepted() > INSTANCES * 5, 120_000);

  const since = performance.now();
  await raise(system, 64);
  tellFigure(`${INSTANCES} instances among 64 shards after`, performance.now() - since, { atMost: 30_000 });

  const raising = raise(system, 1_024);
  // In the middle of the moves: some instances have moved, and others have not.
  await waitFor(async () => (await lockedShards(system)) > 64, 120_000, { everyMs: 20 });
  await delay(300);
  await system.workers[0]!.kill('SIGKILL');
  await system.workers[0]!.restart();
  await raising;
  const acceptedWhileRaising = traffic.accepted();

  const accepted = await traffic.done;
  assert.ok(acceptedWhileRaising > INSTANCES * 5, 'sends went on');
  await proveExactlyOnce(system, instances, accepted);
  await proveInboundOnce(system, await inbound.done);
  await proveOneSessionEach(system);
  const { rows } = await system.db.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM instances WHERE shard >= 32',
  );
  assert.ok(rows[0]!.n > 0, 'instances have moved');
  tellFigure('the longest time that one send waited for its 202', traffic.slowestMs(), { atMost: 5_000 });
});
