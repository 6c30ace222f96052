import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { requestAction } from '@posthorn/core/instances/request-action.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import type { LifecycleAction } from '@posthorn/core/instances/transitions.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createOrm, type Orm } from '@posthorn/core/platform/database/orm.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { messagingEntities } from '@posthorn/server/messaging/entities.ts';
import { type RunningWorker, startWorker } from '@posthorn/worker/worker.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import { createMoodyNetwork, type MoodyNetwork } from './moody-network.ts';

const cipher = createCipher('0123456789abcdef'.repeat(4));
const WORKERS = 2;
const INSTANCES = sized(60, 200, 400);
const CHAOS_MS = sized(5_000, 20_000, 120_000);
/** The longest back-off of a session that has failed often, and some more. */
const SETTLES_WITHIN_MS = 60_000;
const ACTIONS: readonly LifecycleAction[] = [
  'connect',
  'connect',
  'connect',
  'restart',
  'disconnect',
  'logout',
];

let parts: Parts;
let orm: Orm;
let company: SeededCompany;
let network: MoodyNetwork;
/** The network ids of accepted texts, by instance and in order. */
const texts = new Map<string, string[]>();
const workers: RunningWorker[] = [];
before(async () => {
  parts = await createParts();
  orm = await createOrm({ url: parts.url, entities: messagingEntities, name: 'test' });
  company = await seedCompany(parts.db);
  network = createMoodyNetwork();
  await parts.db.query(`
    CREATE TABLE failing (instance_id uuid PRIMARY KEY, code text);
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE chosen text := (SELECT code FROM failing WHERE instance_id = (to_jsonb(OLD) ->> TG_ARGV[0])::uuid);
    BEGIN
      IF chosen IS NOT NULL THEN RAISE EXCEPTION 'this write fails' USING ERRCODE = chosen; END IF;
      RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END $$;
    CREATE TRIGGER fail BEFORE UPDATE ON instances FOR EACH ROW EXECUTE FUNCTION fail('id');
    CREATE TRIGGER fail BEFORE UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION fail('instance_id');
    CREATE TRIGGER fail BEFORE UPDATE OR DELETE ON outbox FOR EACH ROW EXECUTE FUNCTION fail('instance_id');`);
  for (let nth = 0; nth < WORKERS; nth += 1) workers.push(await startOne());
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await orm?.close();
  await parts?.close();
});

function startOne(): Promise<RunningWorker> {
  return startWorker({
    ...parts,
    databaseUrl: parts.url,
    clock: systemClock,
    broker: createInProcessBroker(),
    cipher,
    driver: network.driver,
    name: `worker ${randomUUID()}`,
  });
}

/** A worker stops, and another one starts, as in an upgrade. */
async function replaceWorkers(untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    await delay(1_000 + Math.random() * 1_000);
    const started = await startOne().catch(() => null);
    if (!started) continue;
    workers.push(started);
    await workers.shift()!.stop();
  }
}

test('each instance ends in its desired state and sends, whatever network, users and database did', async (t) => {
  const ids: string[] = [];
  for (let nth = 0; nth < INSTANCES; nth += 1)
    ids.push(await seedInstance(parts.db, company.companyId, { state: 'CREATED', wanted: 'connected' }));

  for (const id of ids) texts.set(id, []);
  const untilMs = performance.now() + CHAOS_MS;
  await Promise.all([
    ...ids.map((id) => useAtRandom(id, untilMs)),
    failAtRandom(ids, untilMs),
    replaceWorkers(untilMs),
  ]);
  await parts.db.query('DELETE FROM failing');
  network.calm();

  const wrong = await waitUntilSettled(ids);
  assert.deepEqual(wrong, [], 'all of them settled');
  const { rows: given } = await parts.db.query<{ id: string }>(
    `SELECT id FROM instances WHERE last_error LIKE 'another session of this account%'`,
  );
  assert.deepEqual(
    given.map(({ id }) => tell(id)),
    [],
    'no worker takes another one for a stranger',
  );
  const connected = (await readAll()).filter(({ state }) => state === 'CONNECTED').map(({ id }) => id);
  for (const id of connected) texts.get(id)!.push(await enqueue(id));
  const unsent = async () => {
    const { rows } = await parts.db.query<{ instance_id: string; status: string }>(
      `SELECT instance_id, status FROM messages WHERE instance_id = ANY ($1::uuid[]) AND status <> 'sent'`,
      [connected],
    );
    return rows.map(({ instance_id: id, status }) => `${status}: ${tell(id)}`);
  };
  await waitFor(async () => (await unsent()).length === 0, SETTLES_WITHIN_MS).catch(() => undefined);
  assert.deepEqual(await unsent(), [], 'all that are connected send everything');
  for (const id of connected) {
    const sent = texts.get(id)!;
    const first = [...new Set(network.of(id).received)].filter((networkId) => sent.includes(networkId));
    assert.deepEqual(first, sent, `in the order in which they were accepted: ${tell(id)}`);
  }
  const steps = ids.reduce((sum, id) => sum + network.of(id).story.length, 0);
  const sent = connected.reduce((sum, id) => sum + texts.get(id)!.length, 0);
  t.diagnostic(
    `${steps} steps of ${INSTANCES} sessions; ${connected.length} are connected and sent ${sent} texts`,
  );
  assert.ok(connected.length > 0);
});

async function useAtRandom(instanceId: string, untilMs: number): Promise<void> {
  while (performance.now() < untilMs) {
    await delay(Math.random() * 1_500);
    const action = ACTIONS[Math.floor(Math.random() * ACTIONS.length)]!;
    const asked = requestAction(
      { orm, bus: parts.bus, clock: systemClock },
      { principal: company.principal, instanceId, action },
    );
    // Refused in this state, or the database failed: then the request had no effect.
    const isTaken = await asked.then(
      () => true,
      () => false,
    );
    if (isTaken) network.of(instanceId).story.push(`asked to ${action}`);
    // A text whose answer is lost may have been accepted, and is not waited for.
    const accepted = await enqueue(instanceId).catch(() => null);
    if (accepted) texts.get(instanceId)!.push(accepted);
  }
}

/** For a while updates of some instances fail, with a timeout or a refusal, and connections end. */
async function failAtRandom(ids: readonly string[], untilMs: number): Promise<void> {
  for (let round = 0; performance.now() < untilMs; round += 1) {
    await retried(async () => {
      await parts.db.query('DELETE FROM failing');
      await parts.db.query(
        `INSERT INTO failing SELECT id, CASE WHEN random() < 0.5 THEN '55P03' ELSE 'P0001' END
         FROM unnest($1::uuid[]) id WHERE random() < 0.4`,
        [ids],
      );
    });
    if (round % 5 === 4)
      await retried(() =>
        parts.db.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.5`,
        ),
      );
    await delay(300);
  }
}

async function retried(work: () => Promise<unknown>): Promise<void> {
  await waitFor(() => work().then(() => true));
}

interface Row {
  id: string;
  state: string;
  wanted: string;
  is_paired: boolean;
}

async function readAll(): Promise<Row[]> {
  const { rows } = await parts.db.query<Row>(
    'SELECT id, state, wanted, credentials IS NOT NULL AS is_paired FROM instances',
  );
  return rows;
}

/** The instances that are not in their desired state at the end, with their histories. */
async function waitUntilSettled(ids: readonly string[]): Promise<string[]> {
  const unsettled = async () => (await readAll()).filter((row) => !isSettled(row)).map(({ id }) => id);
  await waitFor(async () => (await unsettled()).length === 0, SETTLES_WITHIN_MS).catch(() => undefined);
  const left = new Set(await unsettled());
  const rows = await readAll();
  return ids
    .filter((id) => left.has(id))
    .map((id) => `${JSON.stringify(rows.find((row) => row.id === id))}\n${tell(id)}`);
}

function isSettled({ id, state, wanted, is_paired: isPaired }: Row): boolean {
  const { open, connected, isBanned } = network.of(id);
  const isOpen = open.size > 0;
  if (wanted === 'logged_out')
    return (state === 'DISCONNECTED' || state === 'CREATED') && !isPaired && !isOpen;
  if (state === 'BANNED') return isBanned && !isOpen;
  if (wanted === 'disconnected') return (state === 'DISCONNECTED' || state === 'CREATED') && !isOpen;
  return state === 'CONNECTED' && isPaired && open.size === 1 && connected === 1;
}

function tell(instanceId: string): string {
  const { story, open, connected } = network.of(instanceId);
  return `${open.size} open, ${connected} connected: ${story.join(', ')}`;
}

/** Accepts a text as the API does, and returns its id at the network. */
async function enqueue(instanceId: string): Promise<string> {
  const messageId = newId();
  await parts.db.query(
    `WITH m AS (
       INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
       VALUES ($1, $2, $3, 'outbound', 'text', '5511988887777@s.whatsapp.net', 'queued', '{"text":"hi"}', now()))
     INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
     VALUES ($1, $2, $3, $4, 'text', $1, now())`,
    [messageId, company.companyId, instanceId, shardOf(instanceId, DEFAULT_SHARDS)],
  );
  return networkIdOf(messageId);
}
