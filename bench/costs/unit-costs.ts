import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@posthorn/test/support/process.ts';
import { startRabbit } from '@posthorn/test/support/rabbitmq.ts';
import { type System, startSystem } from '@posthorn/test/support/system.ts';
import { sendTexts } from '../end-to-end/drive.ts';
import { prepare } from '../end-to-end/pipelines.ts';
import { startReceiver } from '../end-to-end/receiver.ts';
import { type BenchDatabases, SECRETS } from '../servers.ts';
import { difference, type Reading, readAll, residentBytes, scaled, sum } from './reading.ts';

export interface UnitCosts {
  /** The cost of one unit of each kind. */
  units: ({ unit: string } & Reading)[];
  /** The cost of one idle session: in memory of the worker, and per second. */
  idle: { sessions: number; workerBytes: number } & Reading;
}

const INSTANCES = 20;
const IDLE_S = 20;
/** A session that was just opened is not idle yet. */
const SETTLE_MS = 10_000;
const DONE_TIMEOUT_MS = 300_000;

/**
 * Counts the cost of a message in the processes, in PostgreSQL and in the broker: its accept while no worker runs, and
 * the whole way without and with a webhook. The differences are the costs of the send and of the delivery. Then it
 * counts the cost of idle sessions. CPU time, bytes and counts depend little on the machine's other load; seconds are
 * not measured.
 */
export async function measureUnitCosts(
  databases: BenchDatabases,
  { messages, sessions }: { messages: number; sessions: number },
): Promise<UnitCosts> {
  const rabbit = await startRabbit();
  const receiver = await startReceiver();
  const databaseUrl = await databases.create('bench_costs', 'posthorn');
  const system = await startSystem({
    databaseUrl,
    amqpUrl: rabbit.url,
    env: { ...SECRETS, NODE_ENV: 'production', BILLING_SIMULATED: 'true' },
  });
  const costOf = async (work: () => Promise<unknown>): Promise<Reading> => {
    const before = await readAll(databases, system, rabbit);
    await work();
    return difference(await readAll(databases, system, rabbit), before);
  };
  const perMessage = async (work: () => Promise<unknown>) => scaled(await costOf(work), 1 / messages);
  try {
    const at = { url: system.urls[0]!, sandboxUrl: system.sandboxUrl, instances: INSTANCES };
    const silent = await prepare(system.db, at);
    // Measured before any load: later, the figures would include clean-up, and memory that the load left free.
    const wait = () => delay(IDLE_S * 1_000);
    await delay(SETTLE_MS);
    const few = { cost: await costOf(wait), bytes: residentBytes(system) };
    await prepare(system.db, { ...at, instances: sessions });
    await delay(SETTLE_MS);
    const many = { cost: await costOf(wait), bytes: residentBytes(system) };
    const send = async (count: number) => {
      await sendTexts(silent, count);
      await allDone(system);
    };
    // Plans, caches and pools are warm afterwards.
    await send(messages);
    await system.workers.pop()!.kill('SIGTERM');
    const accept = await perMessage(() => sendTexts(silent, messages));
    await system.addWorker();
    await allDone(system);

    const heard = await prepare(system.db, { ...at, receiver });
    const deliver = async (count: number) => {
      await receiver.allArrived(await sendTexts(heard, count), DONE_TIMEOUT_MS);
      await allDone(system);
    };
    await deliver(messages);
    // Node.js gets faster while it runs, so the run with a webhook is between two runs without one.
    const first = await perMessage(() => send(messages));
    const delivered = await perMessage(() => deliver(messages));
    const whole = scaled(sum(first, await perMessage(() => send(messages))), 1 / 2);
    return {
      units: [
        { unit: 'accept', ...accept },
        { unit: 'send, with its 2 events', ...difference(whole, accept) },
        { unit: 'delivery of 1 event', ...difference(delivered, whole) },
        { unit: 'all of it', ...delivered },
      ],
      idle: {
        sessions,
        workerBytes: (many.bytes - few.bytes) / sessions,
        ...scaled(difference(many.cost, few.cost), 1 / (sessions * IDLE_S)),
      },
    };
  } finally {
    receiver.close();
    await system.stop();
    await rabbit.stop();
  }
}

/** No task is left, and no delivery. */
async function allDone(system: System): Promise<void> {
  await waitFor(
    async () => {
      const { rows } = await system.db.query<{ isDone: boolean }>(
        `SELECT NOT EXISTS (SELECT FROM outbox) AND NOT EXISTS (SELECT FROM webhook_deliveries)
           AND NOT EXISTS (SELECT FROM messages WHERE status IN ('queued', 'sent')) AS "isDone"`,
      );
      return rows[0]!.isDone;
    },
    DONE_TIMEOUT_MS,
    { what: 'all messages are delivered', everyMs: 500 },
  );
}
