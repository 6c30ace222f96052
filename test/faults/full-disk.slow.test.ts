import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { startPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { sized } from '../support/size.ts';
import { makeSmallDisk } from '../support/small-disk.ts';
import { startSystem } from '../support/system.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, sendTexts } from './traffic.ts';

const FULL_MS = sized(10_000, 20_000, 60_000);
const INSTANCES = 8;
const PAUSE_MS = 100;
const SIZE_MB = 96;

test(`the database's disk is full for ${FULL_MS / 1000} s under load: sends are answered with Retry-After, each message goes out once, in order`, async (t) => {
  const disk = makeSmallDisk(SIZE_MB);
  if (!disk) return assert.notEqual(process.getuid?.(), 0, 'root fills a disk of its own here');
  const postgres = await startPostgres();
  const log = createLog({ level: 'silent', role: 'test' });
  const admin = createDb({ url: postgres.url, poolSize: 1, log, name: 'test' });
  await admin.query(`CREATE TABLESPACE small LOCATION '${disk.dir}'`);
  await admin.query('CREATE DATABASE full_disk TABLESPACE small');
  await admin.close();
  const databaseUrl = postgres.urlOf('full_disk');
  await migrate(databaseUrl);
  const { url: amqpUrl } = await createTestVhost();
  const system = await startSystem({ databaseUrl, amqpUrl, messaging: 1, workers: 2 });
  t.after(async () => {
    disk.free();
    await system.stop();
    await postgres.stop();
    disk.remove();
  });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const perInstance = Math.round((FULL_MS + 10_000) / PAUSE_MS);
  const traffic = sendTexts(system, company, instances, perInstance, PAUSE_MS);
  await waitFor(() => traffic.accepted() > INSTANCES * 3);
  disk.fill();
  await waitFor(() => traffic.refusals.size > 0, 120_000, { what: 'the last free page is used up' });
  await delay(FULL_MS);
  const before = traffic.accepted();
  disk.free();
  await waitFor(() => traffic.accepted() > before + INSTANCES, 60_000, { what: 'accepts go on' });
  const accepted = await traffic.done;
  assert.deepEqual([...traffic.refusals.keys()], ['503 SERVICE_UNAVAILABLE']);
  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  await proveOneSessionEach(system);
  t.diagnostic(
    `${traffic.accepted()} messages, ${[...traffic.refusals.values()]} refusals, ${repeatsDropped} repeats dropped by the network`,
  );
});
