import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import type { Step } from '@posthorn/core/messages/progress.ts';
import { createProgressRecorder, type Progress } from '@posthorn/core/messages/record-progress.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import fc from 'fast-check';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const GROUP = '120363000000000001@g.us';
const at = new Date();

let parts: Parts;
let companyId: number;
let instanceId: string;
let lease: Lease;
before(async () => {
  parts = await createParts();
  ({ companyId } = await seedCompany(parts.db));
  instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
  const shard = shardOf(instanceId, DEFAULT_SHARDS);
  const { rows } = await parts.db.query<{ epoch: number }>('SELECT epoch FROM shards WHERE shard = $1', [
    shard,
  ]);
  lease = { shard, epoch: rows[0]!.epoch };
});
after(() => parts.close());

async function seedMessage(): Promise<string> {
  const id = newId();
  await parts.db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     VALUES ($1, $2, $3, 'outbound', 'text', $4, 'queued', '{"text":"hi"}', now())`,
    [id, companyId, instanceId, GROUP],
  );
  return id;
}

function countedRecorder() {
  let count = 0;
  const transaction: Db['transaction'] = (...args) => {
    count += 1;
    return parts.db.transaction(...args);
  };
  const recorder = createProgressRecorder({ ...parts, db: { ...parts.db, transaction } });
  return { recorder, transactions: () => count };
}

async function stateOf(messageId: string): Promise<unknown> {
  const { rows } = await parts.db.query(
    `SELECT status, failed_reason, network_id IS NOT NULL AS named,
       ARRAY(SELECT e.type FROM events e WHERE e.data->'message_ids' ? $1::text ORDER BY e.id) AS events
     FROM messages WHERE id = $1::uuid`,
    [messageId],
  );
  return rows[0];
}

function receipt(messageId: string, to: Step, member: number, onUnknown = assert.fail): Progress {
  const named = { instanceId, networkId: messageId, onUnknown };
  return { messageId, named, lease, to, at, by: `55119888${10_000 + member}@s.whatsapp.net` };
}

test('the receipts of 250 members of a group for one message take one transaction for each step', async () => {
  const messageId = await seedMessage();
  const { recorder, transactions } = countedRecorder();
  await recorder.push({ messageId, lease, to: 'sent', at });
  for (const to of ['delivered', 'read'] as const) {
    for (let member = 0; member < 250; member += 1) {
      assert.equal(await recorder.push(receipt(messageId, to, member)), 'recorded');
    }
  }
  await recorder.push({ messageId, lease, to: 'sent', at });
  assert.equal(transactions(), 3);
  assert.deepEqual(await stateOf(messageId), {
    ...{ status: 'read', failed_reason: null, named: false },
    events: ['message.sent', 'message.delivered', 'message.read'],
  });
});

test('two simultaneous steps take one transaction when the first one proves the second', async () => {
  const messageId = await seedMessage();
  const { recorder, transactions } = countedRecorder();
  const first = recorder.push(receipt(messageId, 'delivered', 0));
  while (transactions() === 0) await setImmediate();
  const second = recorder.push({ messageId, lease, to: 'sent', at });
  assert.deepEqual(await Promise.all([first, second]), ['recorded', 'recorded']);
  assert.equal(transactions(), 1);
});

test('a refused step proves nothing: an earlier step that came at the same time is recorded', async () => {
  const messageId = await seedMessage();
  const { recorder, transactions } = countedRecorder();
  const passed = { ...lease, epoch: lease.epoch - 1 };
  const first = assert.rejects(recorder.push({ ...receipt(messageId, 'delivered', 0), lease: passed }));
  while (transactions() === 0) await setImmediate();
  await recorder.push({ messageId, lease, to: 'sent', at });
  await first;
  assert.deepEqual(await stateOf(messageId), {
    ...{ status: 'sent', failed_reason: null, named: false },
    events: ['message.sent'],
  });
});

test('the id that the network gives a message is kept when its step is known already', async () => {
  const messageId = await seedMessage();
  const recorder = createProgressRecorder(parts);
  await recorder.push({ messageId, lease, to: 'sent', at });
  await recorder.push({ messageId, lease, to: 'sent', at, assignedId: `wamid.${messageId}` });
  assert.equal(((await stateOf(messageId)) as { named: boolean }).named, true);
});

test('a receipt that another instance gets for the message is one for an unknown message', async () => {
  const messageId = await seedMessage();
  const recorder = createProgressRecorder(parts);
  await recorder.push(receipt(messageId, 'read', 0));
  const other = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
  let unknown = 0;
  const onUnknown = () => {
    unknown += 1;
  };
  const named = { instanceId: other, networkId: messageId, onUnknown };
  await recorder.push({ ...receipt(messageId, 'delivered', 1), named });
  assert.equal(unknown, 1);
});

test('steps in any order end as if the recorder had remembered nothing', async () => {
  const progress = fc.record(
    {
      to: fc.constantFrom<Progress['to']>('accepted', 'sent', 'delivered', 'read', 'played', 'failed'),
      reason: fc.constantFrom('outcome_unknown', 'send_failed', 'undeliverable'),
      isToldByNetwork: fc.boolean(),
      isAtOnce: fc.boolean(),
      names: fc.boolean(),
    },
    { requiredKeys: ['to', 'isAtOnce', 'names'] },
  );
  let drawn = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(progress, { minLength: 1, maxLength: 8 }), async (told) => {
      const [remembered, forgotten] = [await seedMessage(), await seedMessage()];
      const recorder = createProgressRecorder(parts);
      const waiting: Promise<unknown>[] = [];
      for (const { isAtOnce, names, ...rest } of told) {
        drawn += 1;
        const progressOf = (messageId: string): Progress => ({
          ...{ messageId, lease, at, ...rest },
          ...(names && { assignedId: `wamid.${messageId}.${drawn}` }),
        });
        const pushed = recorder.push(progressOf(remembered));
        if (isAtOnce) waiting.push(pushed);
        else await pushed;
        await createProgressRecorder(parts).push(progressOf(forgotten));
      }
      await Promise.all(waiting);
      assert.deepEqual(await stateOf(remembered), await stateOf(forgotten));
    }),
    { numRuns: 100 },
  );
});
