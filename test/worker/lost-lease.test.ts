import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { announceQr } from '@posthorn/core/instances/announce-qr.ts';
import { type Lease, LeaseLost, leaseOfInstance, underLease } from '@posthorn/core/instances/lock-leases.ts';
import { answerPairingCode, endPairing } from '@posthorn/core/instances/pairing.ts';
import { DEFAULT_SETTINGS } from '@posthorn/core/instances/settings.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { transitionInstance } from '@posthorn/core/instances/transition-instance.ts';
import { recordUserIds } from '@posthorn/core/lids/record-user-ids.ts';
import { recordChangeTask } from '@posthorn/core/messages/record-change-task.ts';
import { createInboundRecorder, type ReceivedBatch } from '@posthorn/core/messages/record-inbound.ts';
import { recordNetworkChanges } from '@posthorn/core/messages/record-network-change.ts';
import { createProgressRecorder } from '@posthorn/core/messages/record-progress.ts';
import type { NetworkDriver, NetworkSession, SessionSink } from '@posthorn/core/network/driver.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createAttempts } from '@posthorn/core/sending/begin-attempt.ts';
import { noteTyping } from '@posthorn/core/sending/note-typing.ts';
import { recordStatusFacts } from '@posthorn/core/status/record-status.ts';
import { recordCalls } from '@posthorn/worker/sessions/record-calls.ts';
import { startWorker } from '@posthorn/worker/worker.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { projectRoot, waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
let company: SeededCompany;
before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
});
after(() => parts.close());

const FROM = '5511988887777@s.whatsapp.net';
const at = new Date();

async function currentLease(instanceId: string): Promise<Lease> {
  const shard = shardOf(instanceId, DEFAULT_SHARDS);
  const { rows } = await parts.db.query<{ epoch: number }>('SELECT epoch FROM shards WHERE shard = $1', [
    shard,
  ]);
  return { shard, epoch: rows[0]!.epoch };
}

async function raiseEpochs(): Promise<void> {
  await parts.db.query('UPDATE shards SET epoch = epoch + 1');
}

function received(instanceId: string, lease: Lease, networkId = randomUUID()): ReceivedBatch {
  const message = {
    companyId: company.companyId,
    instanceId,
    networkId,
    chatJid: FROM,
    senderJid: FROM,
    pushName: 'Somebody',
    type: 'text',
    content: { text: 'hello' },
    at,
  };
  return { lease, messages: [message] };
}

/** All rows about an instance, to prove that nothing was written. */
async function traces(): Promise<unknown> {
  const { rows } = await parts.db.query(
    `SELECT (SELECT json_agg(i.* ORDER BY i.id) FROM instances i) AS instances,
            (SELECT json_agg(m.* ORDER BY m.id) FROM messages m) AS messages,
            (SELECT json_agg(o.* ORDER BY o.task_id) FROM outbox o) AS outbox,
            (SELECT json_agg(p.* ORDER BY p.instance_id) FROM instance_pairings p) AS pairings,
            (SELECT json_agg(l.* ORDER BY l.lid, l.instance_id) FROM lids l) AS lids,
            (SELECT count(*)::int FROM events) AS events, (SELECT count(*)::int FROM status_feed) AS statuses`,
  );
  return rows[0];
}

async function seedTask(
  instanceId: string,
  operation: string,
): Promise<{ messageId: string; taskId: string }> {
  const messageId = newId();
  const taskId = operation === 'text' ? messageId : newId();
  await parts.db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     VALUES ($1, $2, $3, 'outbound', 'text', $4, $5, '{"text":"hi"}', now())`,
    [messageId, company.companyId, instanceId, FROM, operation === 'text' ? 'queued' : 'sent'],
  );
  await parts.db.query(
    `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, now())`,
    [taskId, company.companyId, instanceId, shardOf(instanceId, DEFAULT_SHARDS), operation, messageId],
  );
  return { messageId, taskId };
}

test('one of two received messages is stored and one is refused when the epoch is raised between them', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId, { state: 'CONNECTED' });
  const recorder = createInboundRecorder(parts);
  const lease = await currentLease(instanceId);
  let acked = 0;
  const ack = () => {
    acked += 1;
  };
  await recorder.push(received(instanceId, lease)).then(ack);
  await raiseEpochs();
  await assert.rejects(recorder.push(received(instanceId, lease)).then(ack), LeaseLost);
  const stored = await parts.db.query('SELECT 1 FROM messages WHERE instance_id = $1', [instanceId]);
  assert.deepEqual([acked, stored.rows.length], [1, 1]);
});

test('in one batch each entry is judged by its own epoch, also when one worker had the shard twice', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId, { state: 'CONNECTED' });
  const recorder = createInboundRecorder(parts);
  const former = await currentLease(instanceId);
  await raiseEpochs();
  const present = await currentLease(instanceId);
  const outcomes = await Promise.allSettled(
    [former, present, former, present].map((lease) => recorder.push(received(instanceId, lease))),
  );
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
  const stored = await parts.db.query('SELECT 1 FROM messages WHERE instance_id = $1', [instanceId]);
  assert.equal(stored.rows.length, 2);
});

test('under the lease of an instance that has left its shard nothing is written, and writes under way are awaited', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId, { state: 'CONNECTED' });
  const shard = await currentLease(instanceId);
  const lease = leaseOfInstance(shard);
  const ended: string[] = [];
  const begun = Promise.withResolvers<void>();
  const writing = underLease(parts.db, lease, async (sql) => {
    begun.resolve();
    await sql.query('SELECT pg_sleep(0.3)');
    ended.push('writing');
  });
  await begun.promise;
  const leaving = lease.hold.end().then(() => ended.push('leaving'));
  await assert.rejects(createInboundRecorder(parts).push(received(instanceId, lease)), LeaseLost);
  await Promise.all([writing, leaving]);
  assert.deepEqual(ended, ['writing', 'leaving']);
  await createInboundRecorder(parts).push(received(instanceId, leaseOfInstance(shard)));
});

test('attempts that begin at once are noted each by itself: one whose task or lease is gone costs no other', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId, { state: 'CONNECTED' });
  const former = await currentLease(instanceId);
  await raiseEpochs();
  const lease = await currentLease(instanceId);
  const tasks = await Promise.all([1, 2, 3].map(() => seedTask(instanceId, 'text')));
  const [first, late, last] = tasks.map(({ taskId }) => taskId);
  const attempts = createAttempts(parts.db);
  const outcomes = await Promise.allSettled([
    attempts.begin({ taskId: first!, lease }),
    attempts.begin({ taskId: newId(), lease }),
    attempts.begin({ taskId: late!, lease: former }),
    attempts.begin({ taskId: last!, lease }),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : 'begun')),
    ['begun', 'the task was finished by another', new LeaseLost(former).message, 'begun'],
  );
  const counts = async () => {
    const { rows } = await parts.db.query<{ task_id: string; attempts: number }>(
      'SELECT task_id, attempts FROM outbox WHERE instance_id = $1',
      [instanceId],
    );
    return [first, late, last].map((id) => rows.find(({ task_id }) => task_id === id)?.attempts);
  };
  assert.deepEqual(await counts(), [1, 0, 1]);
  await Promise.all([first!, last!].map((taskId) => attempts.end({ taskId, lease })));
  assert.deepEqual(await counts(), [0, 0, 0]);
});

/** All writes of a worker as the owner of an instance. A new recorder needs a line here. */
const RECORDS: Record<string, (instanceId: string, lease: Lease, tasks: SeededTasks) => Promise<unknown>> = {
  inbound: (instanceId, lease) => createInboundRecorder(parts).push(received(instanceId, lease)),
  progress: (_, lease, { text }) =>
    createProgressRecorder(parts).push({ messageId: text.messageId, lease, to: 'sent', at }),
  'change task': (_, lease, { edit }) =>
    recordChangeTask(parts, { taskId: edit.taskId, operation: 'edit', lease, at }),
  'begin of an attempt': (_, lease, { text }) =>
    createAttempts(parts.db).begin({ taskId: text.taskId, lease }),
  'changed user ids': (instanceId, lease) =>
    recordUserIds(parts, { companyId: company.companyId, instanceId, lease }, [
      { from: 'BR.1@bsuid', to: 'BR.2@bsuid' },
    ]),
  'note of typing': (_, lease, { text }) =>
    noteTyping(parts.db, { taskId: text.taskId, lease, forMs: 1_000 }),
  'change at the network': (instanceId, lease, { edit }) =>
    recordNetworkChanges(parts, { instanceId, lease }, [
      { kind: 'deleted', networkId: networkIdOf(edit.messageId), chat: FROM, from: FROM, fromMe: true, at },
    ]),
  status: (instanceId, lease) =>
    recordStatusFacts(parts, { companyId: company.companyId, instanceId, lease }, [
      { kind: 'posted', statusId: 'S1', from: FROM, at, type: 'text', words: 'hello' },
    ]),
  move: (instanceId, lease) =>
    transitionInstance(parts, { instanceId, lease, to: 'DISCONNECTED', reason: 'connection_lost' }),
  qr: (instanceId, lease) =>
    announceQr(parts, { id: instanceId, companyId: company.companyId, lease }, 'a code', at),
  'pairing code': (instanceId, lease) =>
    answerPairingCode(parts.db, { id: instanceId, lease }, '5511', { code: 'ABCD' }),
  calls: (instanceId, lease) =>
    recordCalls(
      parts,
      {
        companyId: company.companyId,
        instanceId,
        lease,
        loadSettings: async () => DEFAULT_SETTINGS,
        session: () => null,
        inBackground: () => undefined,
      },
      [{ kind: 'call', callId: randomUUID(), from: FROM, video: false, group: null, at }],
    ),
  'end of pairing': (instanceId, lease) => endPairing(parts.db, { id: instanceId, lease }),
};
interface SeededTasks {
  text: { messageId: string; taskId: string };
  edit: { messageId: string; taskId: string };
}

for (const [what, record] of Object.entries(RECORDS)) {
  test(`${what}: under a lease that has passed it is refused and writes nothing; under the present one it is recorded`, async () => {
    const instanceId = await seedInstance(parts.db, company.companyId, { state: 'CONNECTED' });
    const tasks = { text: await seedTask(instanceId, 'text'), edit: await seedTask(instanceId, 'edit') };
    await parts.db.query(
      `INSERT INTO instance_pairings (instance_id, company_id, code_phone) VALUES ($1, $2, '5511')`,
      [instanceId, company.companyId],
    );
    const passed = await currentLease(instanceId);
    await raiseEpochs();
    const before = await traces();
    await assert.rejects(record(instanceId, passed, tasks), LeaseLost);
    assert.deepEqual(await traces(), before);
    await record(instanceId, await currentLease(instanceId), tasks);
    assert.notDeepEqual(await traces(), before);
  });
}

test('only one module asks for leases, so nothing else can drop one', () => {
  const files = globSync(['core/**/*.ts', 'worker/**/*.ts'], { cwd: projectRoot });
  const asking = files.filter((file) => {
    const text = readFileSync(path.join(projectRoot, file), 'utf8');
    return /FOR SHARE/.test(text) && /\bshards\b/.test(text) && !file.includes('node_modules');
  });
  assert.deepEqual(asking, ['core/instances/lock-leases.ts']);
});

test('messages that reach a session after its lease has passed are not acknowledged, and the instance gets a new session', async (t) => {
  const sinks: SessionSink[] = [];
  const epochs: number[] = [];
  const driver: NetworkDriver = {
    // The network of the instance, because a worker opens an instance only on its own network.
    name: 'sandbox',
    dedupes: true,
    window: 1,
    can: new Set(),
    async open(request, sink) {
      sinks.push(sink);
      epochs.push(request.epoch);
      setImmediate(() => sink.connected());
      return { close: async () => sink.disconnected('closed') } as Partial<NetworkSession> as NetworkSession;
    },
  };
  const cipher = createCipher('0123456789abcdef'.repeat(4));
  const instanceId = await seedInstance(parts.db, company.companyId, {
    state: 'CREATED',
    wanted: 'connected',
  });
  await parts.db.query('UPDATE instances SET credentials = $2 WHERE id = $1', [instanceId, cipher.seal({})]);
  const worker = await startWorker({
    ...parts,
    databaseUrl: parts.url,
    clock: systemClock,
    broker: createInProcessBroker(),
    cipher,
    driver,
    name: 'worker',
  });
  t.after(() => worker.stop());
  const message = () => ({
    networkId: randomUUID(),
    chat: FROM,
    from: FROM,
    pushName: 'Somebody',
    type: 'text',
    content: { text: 'hello' },
    at,
  });
  const { messageId } = await seedTask(instanceId, 'edit');
  // Without it the worker would send the task.
  await parts.db.query('DELETE FROM outbox');
  const networkId = networkIdOf(messageId);
  const told: Record<string, (sink: SessionSink) => Promise<void>> = {
    inbound: (sink) => sink.inbound([message()]),
    'a status': (sink) => sink.inbound([{ ...message(), chat: 'status@broadcast' }]),
    receipts: (sink) => sink.receipts([{ networkId, kind: 'delivered', chat: FROM, by: FROM, at }]),
    'a view': (sink) => sink.receipts([{ networkId, kind: 'read', chat: 'status@broadcast', by: FROM, at }]),
    changes: (sink) =>
      sink.changes([{ kind: 'deleted', networkId, chat: FROM, from: FROM, fromMe: true, at }]),
    paired: (sink) => sink.paired({ credentials: {}, phone: '5511', jid: FROM, pushName: 'Desk' }),
  };
  for (const [what, tell] of Object.entries(told)) {
    await waitFor(() => sinks.length > 0, 60_000, { what: 'a session' });
    const opened = sinks.length;
    const sink = sinks.at(-1)!;
    await waitFor(async () => (await currentLease(instanceId)).epoch === epochs.at(-1), 60_000);
    await raiseEpochs();
    await assert.rejects(tell(sink), LeaseLost, what);
    await waitFor(() => sinks.length > opened, 60_000, { what: `a session after ${what}` });
  }
  await sinks.at(-1)!.inbound([message()]);
});
