import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { type NetworkSession, SendDeferred } from '@posthorn/core/network/driver.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createAttempts } from '@posthorn/core/sending/begin-attempt.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import { type CancelTasksDeps, cancelTasks } from '@posthorn/worker/dispatch/cancel-tasks.ts';
import type { InstanceQueue } from '@posthorn/worker/dispatch/instance-queue.ts';
import { sendTask } from '@posthorn/worker/dispatch/send-task.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/** A task of an instance, with the parts to send it on a network that would show a repeat twice. */
async function seedTask(db: Db) {
  const { companyId } = await seedCompany(parts.db);
  const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
  const shard = shardOf(instanceId, DEFAULT_SHARDS);
  const id = newId();
  await parts.db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     VALUES ($1, $2, $3, 'outbound', 'text', '5511988887777@s.whatsapp.net', 'queued', '{"text":"hi"}', now())`,
    [id, companyId, instanceId],
  );
  await parts.db.query(
    `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
     VALUES ($1, $2, $3, $4, 'text', $1, now())`,
    [id, companyId, instanceId, shard],
  );
  const { rows } = await parts.db.query<{ epoch: number }>('SELECT epoch FROM shards WHERE shard = $1', [
    shard,
  ]);
  const lease = { shard, epoch: rows[0]!.epoch };
  const sent: string[] = [];
  const refusals: Error[] = [];
  const session = {
    async send({ networkId }: { networkId: string }) {
      const refusal = refusals.shift();
      if (refusal) throw refusal;
      sent.push(networkId);
      return { at: new Date() };
    },
  } as unknown as NetworkSession;
  const attempts = createAttempts(db);
  const deps = { attempts, clock: systemClock, random: Math.random } as never;
  const queue = {
    cancel: async (tasks: { taskId: string }[]) => ({
      cancelled: tasks.map(({ taskId }) => taskId),
      underWay: [],
    }),
  } as unknown as InstanceQueue;
  const scope = {
    ...{ instanceId, dedupes: false, outcome: 'told', typingMaxMs: 0 },
    ...{ lease, pacer: { isOn: false, sent: () => undefined } },
    ...{ signal: new AbortController().signal, cancelled: undefined, begin: () => true },
  } as never;
  const noted = async () =>
    (await parts.db.query<{ attempts: number }>('SELECT attempts FROM outbox WHERE task_id = $1', [id]))
      .rows[0]!.attempts;
  return {
    sent,
    refusals,
    noted,
    /** Moves the shard to another worker and back. */
    async changeOwners() {
      lease.epoch += 2;
      await parts.db.query('UPDATE shards SET epoch = $2 WHERE shard = $1', [shard, lease.epoch]);
    },
    /** Has the queue cancel it; whether that may be. */
    async cancel() {
      const cancelling = { db: parts.db, attempts, clock: systemClock } as unknown as CancelTasksDeps;
      const answer = await cancelTasks(cancelling, { id: instanceId, lease, queue }, { taskIds: [id] });
      return answer.under_way.length === 0;
    },
    async send() {
      const task = { taskId: id, messageId: id, operation: 'text', type: 'text', content: { text: 'hi' } };
      const more = { chatJid: '5511988887777@s.whatsapp.net', settings: {}, attempts: await noted() };
      return sendTask(deps, scope, session, { ...task, ...more } as unknown as PendingTask);
    },
  };
}

/** A database whose transactions are committed, while their answers are lost as long as `breaks` says so. */
function losingAnswers(breaks: () => boolean): Db {
  return {
    ...parts.db,
    async transaction(work, opening) {
      const result = await parts.db.transaction(work, opening);
      if (breaks()) throw new Error('Connection terminated unexpectedly');
      return result;
    },
  };
}

test('a send whose note was written as its connection broke is sent once and not taken for sent', async () => {
  let breaks = true;
  const task = await seedTask(losingAnswers(() => breaks));
  await assert.rejects(task.send(), /Connection terminated/);
  assert.deepEqual([await task.noted(), task.sent.length], [1, 0]);
  await assert.rejects(task.send(), /Connection terminated/);
  assert.equal(task.sent.length, 0);
  breaks = false;
  assert.equal((await task.send()).to, 'accepted');
  assert.deepEqual([await task.noted(), task.sent.length], [1, 1]);
  // From here on nobody knows whether the network has it.
  assert.equal((await task.send()).to, 'unanswered');
  assert.equal(task.sent.length, 1);
});

test('a send that did not begin because its note was lost can be cancelled, and one that began cannot', async () => {
  let breaks = true;
  const task = await seedTask(losingAnswers(() => breaks));
  await assert.rejects(task.send(), /Connection terminated/);
  assert.deepEqual([await task.noted(), await task.cancel()], [1, true]);
  breaks = false;
  assert.equal((await task.send()).to, 'accepted');
  assert.deepEqual([await task.noted(), await task.cancel()], [1, false]);
});

test('a send that the network deferred as the database went away is sent later and not taken for sent', async () => {
  let isAway = false;
  const db: Db = {
    ...parts.db,
    async transaction(work, opening) {
      if (isAway) throw new Error('Connection terminated unexpectedly');
      const result = await parts.db.transaction(work, opening);
      isAway = task.refusals.length > 0;
      return result;
    },
  };
  const task = await seedTask(db);
  task.refusals.push(new SendDeferred('rate_limited'));
  await assert.rejects(task.send(), /Connection terminated/);
  assert.deepEqual([await task.noted(), await task.cancel()], [1, true]);
  isAway = false;
  assert.equal((await task.send()).to, 'accepted');
  assert.deepEqual([await task.noted(), task.sent.length], [1, 1]);
});

test('a task that another owner may have sent meanwhile is not sent again', async () => {
  const db: Db = {
    ...parts.db,
    async transaction(work, opening) {
      await parts.db.transaction(work, opening);
      throw new Error('Connection terminated unexpectedly');
    },
  };
  const task = await seedTask(db);
  await assert.rejects(task.send(), /Connection terminated/);
  await task.changeOwners();
  assert.equal((await task.send()).to, 'unanswered');
  assert.deepEqual(task.sent, []);
});
