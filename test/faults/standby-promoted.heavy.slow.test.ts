import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { cloneTemplate, type PostgresServer, startPostgres, startTestPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { sized } from '../support/size.ts';
import { startSystem } from '../support/system.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach, proveUsage, sendTexts } from './traffic.ts';

const SENDS = sized(400, 1_000, 10_000);
const INSTANCES = 10;
const PAUSE_MS = 200;
/** How long the supervisor of a cluster takes to notice that the primary is gone. */
const NOTICED_MS = 2_000;

test('a synchronous standby promoted under load: some seconds of 503, then on by itself; each message once, in order', async (t) => {
  const primary = await startTestPostgres();
  const database = new URL((await cloneTemplate(primary.url)).url);
  await primary.kill();
  const standby = await startPostgres({ standbyOf: primary });
  await primary.restart();
  await makeSynchronous(primary);

  const gone = database.port;
  const port = new URL(standby.url).port;
  const databaseUrl = database.href.replace(`:${gone}/`, `:${gone},127.0.0.1:${port}/`);
  const { url: amqpUrl } = await createTestVhost();
  const system = await startSystem({
    databaseUrl: `${databaseUrl}?target_session_attrs=read-write`,
    amqpUrl,
    messaging: 2,
    workers: 2,
  });
  t.after(async () => {
    await system.stop();
    await Promise.all([primary.stop(), standby.stop()]);
  });
  const { company, instances } = await connectInstances(system, INSTANCES);
  const traffic = sendTexts(system, company, instances, SENDS / INSTANCES, PAUSE_MS);
  await waitFor(() => traffic.accepted() > SENDS * 0.3, 120_000);

  await primary.kill();
  const goneAtMs = performance.now();
  await delay(NOTICED_MS);
  const before = traffic.accepted();
  await using(standby, (db) => db.query('SELECT pg_promote()'));
  await waitFor(() => traffic.accepted() > before, 60_000, { what: 'accepts go on after the promotion' });
  const awayMs = performance.now() - goneAtMs;

  const accepted = await traffic.done;
  const refusals = [...traffic.refusals.keys()];
  assert.ok(refusals.length > 0, 'the primary was away under load');
  assert.deepEqual(
    refusals.filter((refusal) => refusal !== '503 SERVICE_UNAVAILABLE'),
    [],
  );
  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  await proveUsage(system, company, accepted);
  await proveOneSessionEach(system);
  t.diagnostic(
    `${(awayMs / 1000).toFixed(1)} s from the loss of the primary to the next 202, ${NOTICED_MS / 1000} s of them until the promotion; ` +
      `slowest accept ${Math.round(traffic.slowestMs())} ms; ${repeatsDropped} repeats dropped by the network`,
  );
});

/** From here on each commit waits for the standby: acknowledged data is on both. */
async function makeSynchronous(primary: PostgresServer): Promise<void> {
  await using(primary, async (db) => {
    await db.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await db.query('SELECT pg_reload_conf()');
    await waitFor(
      async () => {
        const { rows } = await db.query<{ sync_state: string }>('SELECT sync_state FROM pg_stat_replication');
        return rows[0]?.sync_state === 'sync';
      },
      60_000,
      { what: 'the standby is synchronous' },
    );
  });
}

async function using(server: PostgresServer, work: (db: Db) => Promise<unknown>): Promise<void> {
  const log = createLog({ level: 'silent', role: 'test' });
  const db = createDb({ url: server.url, poolSize: 1, log, name: 'test' });
  await work(db).finally(() => db.close());
}
