import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { startPostgres } from '../support/postgres.ts';
import { projectRoot, waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { sized } from '../support/size.ts';
import { type ServingProcess, type System, startSystem } from '../support/system.ts';
import { startReceiver } from '../webhooks/support.ts';
import { proveInboundOnce, writeToInstances } from './inbound.ts';
import { makeNextRelease, releaseIn } from './next-release.ts';
import {
  type ConnectedInstance,
  connectInstances,
  proveExactlyOnce,
  proveOneSessionEach,
} from './traffic.ts';

const SIDE_BY_SIDE_MS = sized(10_000, 60_000, 60_000);
/** The time in which the old release works alone on the new schema, before the new one starts beside it. */
const OLD_ALONE_MS = 3_000;
const INSTANCES = 8;
const PAUSE_MS = 100;
const env = { SHUTDOWN_DELAY_SECONDS: '5' };
const REPORT_MS = 12_000;
/** Below the limit of the test, so that its failure names the slow step. */
const [ASK_MS, MIGRATE_MS] = [60_000, 120_000];
/** An installed checkout of the last release, to try its upgrade to this one; by default this one takes its place. */
const previous = releaseIn(process.env.POSTHORN_PREVIOUS_RELEASE ?? projectRoot);

test(`two releases side by side for ${SIDE_BY_SIDE_MS / 1000} s under load, the upgrade and its taking back included: no request fails, each message goes out once and in order, each webhook is delivered`, async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.stop());
  const next = makeNextRelease();
  t.after(() => next.remove());
  const databaseUrl = postgres.url;
  await previous.migrate({ DATABASE_URL: databaseUrl });
  const { url: amqpUrl } = await createTestVhost();
  const system = await startSystem({
    root: previous.dir,
    databaseUrl,
    amqpUrl,
    messaging: 1,
    billing: 1,
    env,
  });
  t.after(() => system.stop());
  const messaging = await startBalancer(system.urls);
  const billing = await startBalancer(system.billingUrls);
  const receiver = await startReceiver();
  t.after(() => Promise.all([messaging.close(), billing.close(), receiver.close()]));
  const { company, instances } = await connectInstances(system, INSTANCES);
  const cipher = createCipher(system.env.ENCRYPTION_KEY!);
  await system.db.query(
    `INSERT INTO webhooks (company_id, url, patterns, enabled, secret)
     VALUES ($1, $2, '{message.sent,message.received}', true, $3)`,
    [company.companyId, receiver.url, cipher.seal(`whsec_${Buffer.alloc(24, 7).toString('base64')}`)],
  );

  const failed: string[] = [];
  let passed = 0;
  let slowest = 0;
  let isOver = false;
  async function ask(url: string, method: string, path: string, body?: object) {
    const askedAt = performance.now();
    const answer = await fetch(url + path, {
      method,
      headers: {
        'x-api-key': company.apiKey,
        ...(body ? { 'content-type': 'application/json', 'idempotency-key': randomUUID() } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(ASK_MS),
    });
    const text = await answer.text();
    slowest = Math.max(slowest, performance.now() - askedAt);
    if (answer.ok) passed += 1;
    else failed.push(`${method} ${path}: ${answer.status} ${text}`);
    return answer.ok ? JSON.parse(text) : null;
  }
  const goesOn = () => !isOver && !t.signal.aborted;
  const sendAll = async (instance: ConnectedInstance): Promise<[string, string[]]> => {
    const accepted: string[] = [];
    for (let nth = 0; goesOn(); nth += 1) {
      // At most two messages a contact, so that the guard, which is on, lets them pass.
      const to = `5531${String(instances.indexOf(instance) * 100_000 + Math.floor(nth / 2)).padStart(9, '0')}`;
      // The old release does not know the note and leaves it out.
      const body = { to, text: `message ${nth}`, note: `note ${nth}` };
      const made = await ask(messaging.url, 'POST', `/v1/instances/${instance.id}/messages/text`, body);
      if (made) accepted.push(made.message_id);
      await delay(PAUSE_MS);
    }
    return [instance.id, accepted];
  };
  const read = async () => {
    for (let nth = 0; goesOn(); nth += 1) {
      const { id } = instances[nth % instances.length]!;
      await ask(messaging.url, 'GET', `/v1/instances/${id}/messages`);
      await ask(billing.url, 'GET', '/v1/billing/charges');
      await delay(PAUSE_MS);
    }
  };
  /** Every owner answers every API, whichever of the two is newer. */
  const callOwners = async () => {
    for (const url of system.urls)
      for (const { id } of instances) await ask(url, 'GET', `/v1/instances/${id}/profile`);
  };
  const load = Promise.all([Promise.all(instances.map(sendAll)), read()]);
  const inbound = writeToInstances(system, instances, SIDE_BY_SIDE_MS / 100, SIDE_BY_SIDE_MS * 1.5);
  await waitFor(() => passed > 100, 60_000);

  // A report that reads a table for longer than a send may take: the migration waits for it, and sends do not.
  const report = system.db.query('SELECT count(*), pg_sleep($1) FROM messages', [REPORT_MS / 1_000]);
  const migratingSince = performance.now();
  await Promise.race([
    next.migrate({ DATABASE_URL: databaseUrl }),
    delay(MIGRATE_MS, undefined, { ref: false }).then(() => assert.fail('the migration found no gap')),
  ]);
  const migratedAfterMs = performance.now() - migratingSince;
  await report;
  const slowestMs = slowest;
  await delay(OLD_ALONE_MS);
  const old = { messaging: system.messaging[0]!, billing: system.billing[0]!, worker: system.workers[0]! };
  const start = { root: next.dir };
  const fresh = {
    messaging: await system.addMessaging(start),
    billing: await system.addBilling(start),
    worker: await system.addWorker(start),
  };
  messaging.add(fresh.messaging.url);
  billing.add(fresh.billing.url);
  await waitFor(() => isServing(messaging, fresh.messaging) && isServing(billing, fresh.billing));
  await waitFor(async () => (await shares(system)).length === 2, 60_000, { what: 'both own shards' });
  const [since, before] = [performance.now(), passed];
  await callOwners();
  await delay(Math.max(0, SIDE_BY_SIDE_MS - (performance.now() - since)));
  const duringBoth = passed - before;

  const stop = (release: typeof old) =>
    Promise.all(
      Object.values(release).map(async (running) =>
        assert.equal(await running.kill('SIGTERM'), 0, running.output().slice(-2_000)),
      ),
    );
  await stop(old);
  await delay(OLD_ALONE_MS);
  // The upgrade is undone: the old release starts on the new schema, and the new one stops.
  await Promise.all(Object.values(old).map((running) => running.restart()));
  await waitFor(() => isServing(messaging, old.messaging) && isServing(billing, old.billing));
  await stop(fresh);
  await delay(OLD_ALONE_MS);
  isOver = true;
  const accepted = new Map((await load)[0]);

  assert.deepEqual([...failed, ...messaging.failures, ...billing.failures], []);
  const { repeatsDropped } = await proveExactlyOnce(system, instances, accepted);
  await proveInboundOnce(system, await inbound.done);
  await proveOneSessionEach(system);
  const byRelease = await system.db.query<{ knows: boolean; n: number }>(
    `SELECT content ? 'note' AS knows, count(*)::integer AS n FROM messages
     WHERE direction = 'outbound' GROUP BY 1 ORDER BY 1`,
  );
  assert.deepEqual(
    byRelease.rows.map(({ knows }) => knows),
    [false, true],
    'both releases accepted sends',
  );
  const { rows } = await system.db.query<{ event_id: string }>(
    `SELECT event_id FROM events WHERE type IN ('message.sent', 'message.received')`,
  );
  const delivered = () => receiver.received.map(({ headers }) => String(headers['webhook-id']));
  await waitFor(() => new Set(delivered()).size >= rows.length, 60_000, {
    what: 'each event is delivered',
  });
  assert.deepEqual(new Set(delivered()), new Set(rows.map(({ event_id }) => event_id)));
  console.log(
    `migrated in ${(migratedAfterMs / 1_000).toFixed(1)} s, the slowest request meanwhile took ${Math.round(slowestMs)} ms; ${passed} requests, ${duringBoth} of them with both releases there; ` +
      `${byRelease.rows.map(({ n }) => n).join(' sends accepted by the old release, ')} by the new one; ` +
      `${inbound.written()} received; ${receiver.requests} attempts at ${rows.length} deliveries; ` +
      `${repeatsDropped} repeats dropped by the network`,
  );
});

function isServing(balancer: Balancer, server: ServingProcess): boolean {
  return balancer.isIn(server.url);
}

/** The number of shards of each worker. */
async function shares(system: System): Promise<number[]> {
  const { rows } = await system.db.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM shards WHERE owner_id IS NOT NULL GROUP BY owner_id',
  );
  return rows.map(({ n }) => n);
}
