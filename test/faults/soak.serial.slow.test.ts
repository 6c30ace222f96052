import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type PostgresServer, startTestPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { startRabbit } from '../support/rabbitmq.ts';
import type { RabbitServer } from '../support/rabbitmq-server.ts';
import { sized } from '../support/size.ts';
import { type System, startSystem } from '../support/system.ts';
import { proveInboundOnce, writeToInstances } from './inbound.ts';
import { receiveWebhooks } from './receive-webhooks.ts';
import { createSoakLoad } from './soak-load.ts';
import { assertFlat, headOf, lineOf, type Sample, takeSample } from './soak-samples.ts';
import { connectInstances, proveExactlyOnce, proveOneSessionEach } from './traffic.ts';

const MINUTES = Number(process.env.POSTHORN_SOAK_MINUTES ?? sized(1, 1, 60));
const MINUTE_MS = 60_000;
/** How long the machine's rate is measured, after new processes have warmed up. */
const WARM_UP_MS = 5_000;
const MEASURED_MS = 10_000;
/** Each waits for its answer before it sends again: enough of them to keep the machine busy. */
const TEXT_INSTANCES = 32;
const PICTURE_INSTANCES = 2;
const SCHEDULE_INSTANCES = 2;
const PICTURES_PER_SECOND = 1;
const SCHEDULED_PER_SECOND = 1;
const RECEIVED_PER_SECOND = 10;
/** Everything accepted before the end is done within this time. */
const SETTLE_MS = 300_000;

test(`a soak of ${MINUTES} min at half of the machine's rate, sends, pictures, schedule, received messages and webhooks, with a random kill each minute: none lost, none twice`, async (t) => {
  const { system, postgres, broker } = await start(t);
  const total = TEXT_INSTANCES + PICTURE_INSTANCES + SCHEDULE_INSTANCES;
  const { company, instances } = await connectInstances(system, total);
  const texters = instances.slice(0, TEXT_INSTANCES);
  const picturers = instances.slice(TEXT_INSTANCES, TEXT_INSTANCES + PICTURE_INSTANCES);
  const schedulers = instances.slice(-SCHEDULE_INSTANCES);
  const { delivered, attempts } = await receiveWebhooks(t, system, company.companyId, 'message.*');

  const load = createSoakLoad(system, company);
  const sendFast = (ms: number) => {
    const signal = AbortSignal.timeout(ms);
    return Promise.all(texters.map((instance) => load.texts(instance, null, signal)));
  };
  await sendFast(WARM_UP_MS);
  load.takeLatencies();
  await sendFast(MEASURED_MS);
  const ratePerSecond = load.takeLatencies().ms.length / (MEASURED_MS / 1_000);
  await waitFor(
    async () => (await system.db.query('SELECT FROM outbox LIMIT 1')).rows.length === 0,
    SETTLE_MS,
  );

  const ending = new AbortController();
  const { signal } = ending;
  const perInstance = ratePerSecond / 2 / TEXT_INSTANCES;
  const sending = Promise.all([
    ...texters.map((instance) => load.texts(instance, perInstance, signal)),
    ...picturers.map((instance) => load.pictures(instance, PICTURES_PER_SECOND, signal)),
    ...schedulers.map((instance) => load.scheduled(instance, SCHEDULED_PER_SECOND, signal)),
  ]);
  // A permanent refusal ends the soak in its minute.
  let failure: unknown;
  sending.catch((err) => {
    failure = err;
  });
  const lastsMs = MINUTES * MINUTE_MS;
  const inbound = writeToInstances(system, texters, (RECEIVED_PER_SECOND * lastsMs) / 1_000, lastsMs);
  const victims = victimsOf(system, postgres, broker);
  const samples: Sample[] = [];
  for (let minute = 1; minute <= MINUTES; minute += 1) {
    const victim = victims[Math.floor(Math.random() * victims.length)]!;
    const beforeMs = Math.random() * MINUTE_MS * 0.7;
    const startedAt = performance.now();
    await delay(beforeMs);
    await victim.hurt();
    await delay(Math.max(0, MINUTE_MS - (performance.now() - startedAt)));
    assert.ifError(failure);
    const sample = await takeSample(system, load, {
      minute,
      killed: victim.name,
      textIds: texters.map(({ id }) => id),
    });
    if (minute === 1) console.log(headOf(sample));
    console.log(lineOf(sample));
    samples.push(sample);
  }
  ending.abort();
  await sending;

  const { repeatsDropped } = await proveExactlyOnce(system, instances, load.accepted, SETTLE_MS);
  await proveInboundOnce(system, await inbound.done, SETTLE_MS);
  await proveOneSessionEach(system);
  const { rows } = await system.db.query<{ event_id: string }>(
    `SELECT event_id FROM events WHERE type LIKE 'message.%'`,
  );
  await waitFor(() => delivered.size >= rows.length, SETTLE_MS, { what: 'each event is delivered' });
  assert.deepEqual(delivered, new Set(rows.map(({ event_id }) => event_id)));
  const sent = [...load.accepted.values()].flat().length;
  console.log(
    `the machine's rate: ${ratePerSecond.toFixed(0)} texts a second; ${sent} sent, ${inbound.written()} received, ` +
      `${rows.length} events delivered in ${attempts()} attempts, 0 lost, 0 doubled; ${repeatsDropped} repeats dropped by the network`,
  );
  assertFlat(samples);
});

/** A system on a database and a broker that may be killed. */
async function start(
  t: TestContext,
): Promise<{ system: System; postgres: PostgresServer; broker: RabbitServer }> {
  const postgres = await startTestPostgres();
  t.after(() => postgres.stop());
  const broker = await startRabbit();
  t.after(() => broker.stop());
  const system = await startSystem({
    databaseUrl: postgres.urlOf('posthorn_template'),
    amqpUrl: broker.url,
    messaging: 2,
    workers: 2,
    env: { SANDBOX_KEEP_MESSAGES: '5000000' },
  });
  t.after(() => system.stop());
  return { system, postgres, broker };
}

interface Victim {
  name: string;
  hurt(): Promise<void>;
}

/** Everything that may die at any time, and comes back at once. */
function victimsOf(system: System, postgres: PostgresServer, broker: RabbitServer): Victim[] {
  const killed = (name: string, each: { kill(): Promise<unknown>; restart(): Promise<void> }): Victim => ({
    name,
    async hurt() {
      await each.kill();
      await each.restart();
    },
  });
  return [
    ...system.messaging.map((each, nth) => killed(`messaging ${nth + 1}`, each)),
    ...system.workers.map((each, nth) => killed(`worker ${nth + 1}`, each)),
    killed('PostgreSQL', postgres),
    killed('RabbitMQ', broker),
  ];
}
