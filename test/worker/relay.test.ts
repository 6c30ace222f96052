import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Broker } from '@posthorn/core/platform/broker/broker.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import { readUnfinished, type WakeUp } from '@posthorn/core/sending/publish-outbox.ts';
import { startRelay } from '@posthorn/worker/relay/relay.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const QUEUE = 'posthorn.owner.test';

let parts: Parts;
let company: SeededCompany;
before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
  // A worker that owns all shards.
  await parts.db.query(
    `WITH entered AS (
       INSERT INTO workers (name, tag, backend_pid, any_shard, queue) VALUES ('owner', '#none', 0, true, $1) RETURNING id)
     UPDATE shards SET owner_id = entered.id FROM entered`,
    [QUEUE],
  );
});
after(() => parts.close());

/** A broker that keeps its messages; `comeBack` reports that it was away. */
function keepingBroker(): { broker: Broker; published: WakeUp[]; comeBack(): void } {
  const published: WakeUp[] = [];
  const listeners: (() => void)[] = [];
  const broker: Broker = {
    ...createInProcessBroker(),
    onUp: (listener) => void listeners.push(listener),
    async publish(queue, body) {
      for (const wakeUp of (body as { instances: WakeUp[] }).instances) {
        assert.equal(queue, QUEUE);
        published.push(wakeUp);
      }
    },
  };
  function comeBack(): void {
    for (const listener of listeners) listener();
  }
  return { broker, published, comeBack };
}

async function accept(instanceId: string, count: number): Promise<string[]> {
  const acceptor = createAcceptor({ ...parts, clock: systemClock });
  const accepted = await Promise.all(
    Array.from({ length: count }, (_, nth) =>
      acceptor.acceptSend({
        principal: company.principal,
        instanceId,
        operation: 'text',
        idempotencyKey: randomUUID(),
        force: false,
        body: {},
        traceId: newId(),
        message: { type: 'text', chatJid: `55119${nth}@s.whatsapp.net`, content: { text: randomUUID() } },
      }),
    ),
  );
  return accepted.map(({ taskId }) => taskId);
}

async function outboxOf(instanceId: string): Promise<{ seq: number; marked: boolean }[]> {
  const { rows } = await parts.db.query<{ seq: number; marked: boolean }>(
    'SELECT seq, published_at IS NOT NULL AS marked FROM outbox WHERE instance_id = $1 ORDER BY seq',
    [instanceId],
  );
  return rows;
}

test('a wake-up goes out once, and is marked as published when its row is still there a while later', async (t) => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const { broker, published } = keepingBroker();
  const relay = startRelay({ ...parts, clock: systemClock, broker, isLeader: () => true });
  t.after(() => relay.stop());
  const of = () => published.filter((wakeUp) => wakeUp.instanceId === instanceId);
  const finished = await accept(instanceId, 3);
  await waitFor(() => of().length > 0);
  await parts.db.query('DELETE FROM outbox WHERE task_id = ANY ($1::uuid[])', [finished]);
  await accept(instanceId, 2);
  await waitFor(async () => {
    // Each look of the relay would publish a wake-up again that it has forgotten.
    relay.wake();
    return (await outboxOf(instanceId)).every(({ marked }) => marked);
  });
  const highest = (await outboxOf(instanceId)).at(-1)!.seq;
  await waitFor(() => of().some(({ upToSeq }) => upToSeq === highest));
  const wakeUps = of().map(({ upToSeq }) => upToSeq);
  assert.deepEqual(wakeUps, [...new Set(wakeUps)], 'none twice');
});

test('messages that were published and not marked are published again when the broker comes back, perhaps empty', async (t) => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const { broker, published, comeBack } = keepingBroker();
  const relay = startRelay({ ...parts, clock: systemClock, broker, isLeader: () => true });
  t.after(() => relay.stop());
  const count = () => published.filter((wakeUp) => wakeUp.instanceId === instanceId).length;
  await accept(instanceId, 1);
  await waitFor(() => count() > 0);
  // Both before and after it is marked.
  for (const pauseMs of [0, 1_500]) {
    await delay(pauseMs);
    const before = count();
    comeBack();
    await waitFor(() => count() > before);
  }
});

test('a backlog of thousands is published as a whole', async (t) => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const BACKLOG = 2_500;
  await parts.db.query(
    `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
     SELECT gen_random_uuid(), $2, $1, 3, 'text', gen_random_uuid(), now() FROM generate_series(1, $3)`,
    [instanceId, company.companyId, BACKLOG],
  );
  const { broker, published } = keepingBroker();
  const relay = startRelay({ ...parts, clock: systemClock, broker, isLeader: () => true });
  t.after(() => relay.stop());
  const rows = await outboxOf(instanceId);
  await waitFor(() => published.some(({ upToSeq }) => upToSeq === rows.at(-1)!.seq));
  await waitFor(async () => (await outboxOf(instanceId)).every(({ marked }) => marked));
  assert.equal(rows.length, BACKLOG);
});

test('what waits unfinished for long is found by instance, not task by task', async (t) => {
  const [long, short] = [
    await seedInstance(parts.db, company.companyId),
    await seedInstance(parts.db, company.companyId),
  ];
  await parts.db.query('DELETE FROM outbox');
  const TASKS = 5_000;
  const add = (instanceId: string, count: number, publishedAt: string) =>
    parts.db.query(
      `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at, published_at)
       SELECT gen_random_uuid(), $2, $1, 3, 'text', gen_random_uuid(), now(), ${publishedAt} FROM generate_series(1, $3)`,
      [instanceId, company.companyId, count],
    );
  await add(long, TASKS, `now() - interval '1 hour'`);
  await add(short, 1, `now() - interval '1 hour'`);
  const [unfinished, alone] = [await outboxOf(long), await outboxOf(short)];
  // Published just now, and not published yet.
  for (const publishedAt of ['now()', 'NULL']) await add(long, 1, publishedAt);
  await add(await seedInstance(parts.db, company.companyId), 1, 'NULL');
  await parts.db.query('VACUUM ANALYZE outbox');
  const hot = createDb({ url: parts.url, poolSize: 1, log: parts.log, name: 'relay', plans: 'indexed' });
  t.after(() => hot.close());
  const read = async () => {
    await hot.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await hot.query<{ read: number }>(
      `SELECT sum(idx_tup_read) AS read FROM pg_stat_user_indexes WHERE relname = 'outbox'`,
    );
    return Number(rows[0]!.read);
  };
  const before = await read();
  const found = await readUnfinished(hot, new Date(Date.now() - 60_000));
  const entries = (await read()) - before;
  assert.deepEqual(
    new Map(found.map(({ instanceId, upToSeq }) => [instanceId, upToSeq])),
    new Map([
      [long, unfinished.at(-1)!.seq],
      [short, alone[0]!.seq],
    ]),
  );
  assert.ok(entries < 100, `${entries} index entries were read for two instances`);
});
