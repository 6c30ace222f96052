import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { someoneWaits } from '../support/locks.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const gate = Promise.withResolvers<void>();
let asked = 0;
let pipeline: Sending;
before(async () => {
  pipeline = await startSending({ held: { around: holdingLabels, releaseAll: () => gate.resolve() } });
});
after(() => pipeline.close());

/** The sandbox: its answers about labels of chats wait for the gate, and it tells nothing of labels. */
function holdingLabels(driver: NetworkDriver): NetworkDriver {
  return {
    ...driver,
    async open(request, sink) {
      const facts: typeof sink.facts = (told) =>
        sink.facts(told.filter(({ kind }) => !kind.startsWith('label')));
      const session = await driver.open(request, { ...sink, facts });
      return {
        ...session,
        async act(op, args) {
          const answer = await session.act(op, args);
          if (op === 'label_chat') {
            asked += 1;
            await gate.promise;
          }
          return answer;
        },
      };
    },
  };
}

async function makeLabel(instance: TestInstance): Promise<string> {
  const made = await pipeline.call(instance, 'POST', '/labels', { name: 'VIP', color: 3 });
  assert.equal(made.status, 201, made.text);
  return made.body.label_id;
}

async function learn({ id: instanceId }: TestInstance, lid: string, phone: string): Promise<unknown> {
  const { parts } = pipeline.api;
  const { rows } = await parts.db.query<Lease>(
    'SELECT s.shard, s.epoch FROM instances i JOIN shards s ON s.shard = i.shard WHERE i.id = $1',
    [instanceId],
  );
  const { companyId } = pipeline.company;
  return recordLids(parts, { companyId, instanceId, lease: rows[0]! }, [{ lid, phone }]);
}

test('a label that is put on a chat while its phone is learnt is on the chat of that phone', async () => {
  const instance = await pipeline.connect();
  const [lid, phone] = ['150000000000999@lid', '5531987654321'];
  const label = await makeLabel(instance);
  const putting = pipeline.call(instance, 'POST', `/chats/${lid}/labels/${label}`);
  await waitFor(() => asked > 0);
  await learn(instance, lid, phone);
  gate.resolve();
  const put = await putting;
  assert.deepEqual([put.status, put.body.chat], [200, `${phone}@s.whatsapp.net`]);
  const listed = async () => (await pipeline.call(instance, 'GET', `/labels/${label}/chats`)).body.chats;
  assert.deepEqual(await listed(), [`${phone}@s.whatsapp.net`]);
  await pipeline.call(instance, 'DELETE', `/chats/${lid}/labels/${label}`);
  assert.deepEqual(await listed(), []);
});

test('a label is deleted while a chat that bears it moves to its phone', async () => {
  const instance = await pipeline.connect();
  const { db } = pipeline.api.parts;
  const [jid, other, lid] = [
    '5531987654321@s.whatsapp.net',
    '5541987654321@s.whatsapp.net',
    '950000000000999@lid',
  ];
  const label = await makeLabel(instance);
  for (const chat of [jid, other, lid])
    await db.query(
      `INSERT INTO label_links (instance_id, company_id, label_id, chat_jid, associated, revision, updated_at)
       VALUES ($1, $2, $3, $4, true, 1, now())`,
      [instance.id, pipeline.company.companyId, label, chat],
    );
  let deleting: ReturnType<typeof pipeline.call> | undefined;
  let learning: Promise<unknown> | undefined;
  await db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM label_links WHERE instance_id = $1 AND chat_jid = $2 FOR UPDATE', [
      instance.id,
      other,
    ]);
    deleting = pipeline.call(instance, 'DELETE', `/labels/${label}`);
    await waitFor(() => someoneWaits(db));
    learning = learn(instance, lid, '5531987654321');
    learning.catch(() => undefined);
    await waitFor(() => someoneWaits(db, 2));
  });
  assert.equal((await deleting)!.status, 204);
  await learning;
});
