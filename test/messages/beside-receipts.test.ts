import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { lockAcceptOrder } from '@posthorn/core/guard/accept-order.ts';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { createInboundRecorder, type Received } from '@posthorn/core/messages/record-inbound.ts';
import { recordNetworkChanges } from '@posthorn/core/messages/record-network-change.ts';
import { createProgressRecorder, type Progress } from '@posthorn/core/messages/record-progress.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { someoneWaits } from '../support/locks.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

let database: Parts;
let parts: Parts;
let companyId: number;
before(async () => {
  database = await createParts();
  // Recorders have plans that lock rows in the order in which they are named.
  const db = createDb({
    url: database.url,
    poolSize: 8,
    log: database.log,
    name: 'recorders',
    plans: 'indexed',
  });
  parts = { ...database, db };
  ({ companyId } = await seedCompany(parts.db));
});
after(async () => {
  await parts.db.close();
  await database.close();
});

async function newScope() {
  const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
  const shard = shardOf(instanceId, DEFAULT_SHARDS);
  const found = await parts.db.query<Lease>('SELECT shard, epoch FROM shards WHERE shard = $1', [shard]);
  return { instanceId, lease: found.rows[0]! };
}
type Scope = Awaited<ReturnType<typeof newScope>>;

const jidOf = (phone: string) => `${phone}@s.whatsapp.net`;

async function seedSend({ instanceId }: Scope, chatJid: string, status: 'queued' | 'sent'): Promise<string> {
  const id = newId();
  await parts.db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     VALUES ($1, $2, $3, 'outbound', 'text', $4, $5, '{"text":"hi"}', now())`,
    [id, companyId, instanceId, chatJid, status],
  );
  return id;
}

/** A number that leads to the account with another one. */
async function seedLead({ instanceId }: Scope, number: string, account: string): Promise<void> {
  await parts.db.query(
    'INSERT INTO lids (instance_id, lid, company_id, phone, learned_at) VALUES ($1, $2, $3, $4, now())',
    [instanceId, jidOf(number), companyId, account],
  );
}

async function seedChat({ instanceId }: Scope, chatJid: string): Promise<void> {
  await parts.db.query(
    `INSERT INTO chats (instance_id, company_id, chat_jid, active_at, updated_at) VALUES ($1, $2, $3, now(), now())`,
    [instanceId, companyId, chatJid],
  );
}

function received({ instanceId }: Scope, phone: string): Received {
  const jid = jidOf(phone);
  const content = { text: 'hi' };
  const at = new Date();
  return {
    companyId,
    instanceId,
    networkId: newId(),
    chatJid: jid,
    senderJid: jid,
    pushName: '',
    type: 'text',
    content,
    at,
  };
}

function record(progresses: readonly Omit<Progress, 'at'>[]): Promise<unknown> {
  const recorder = createProgressRecorder(parts);
  return Promise.all(progresses.map((progress) => recorder.push({ ...progress, at: new Date() })));
}

async function assertNoDeadlock(): Promise<void> {
  const { rows } = await parts.db.query<{ deadlocks: number }>(
    'SELECT pg_stat_force_next_flush(), (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()) AS deadlocks',
  );
  assert.equal(Number(rows[0]!.deadlocks), 0);
}

test('sends that are recorded while the person writes from a number that led elsewhere wait for no ring', async () => {
  const scope = await newScope();
  const { instanceId, lease } = scope;
  const [number, account, other] = ['5584988887777', '558488887777', '5511987654321'] as const;
  await seedLead(scope, number, account);
  await seedChat(scope, jidOf(other));
  const sent = await seedSend(scope, jidOf(other), 'queued');
  const failed = await seedSend(scope, jidOf(account), 'queued');
  let writing: Promise<unknown> | undefined;
  let recording: Promise<unknown> | undefined;
  await database.db.transaction(async (sql) => {
    // As a send of the instance that is being accepted.
    await lockAcceptOrder(sql, [instanceId]);
    writing = createInboundRecorder(parts).push({
      lease,
      messages: [received(scope, number), received(scope, other)],
    });
    await waitFor(() => someoneWaits(database.db));
    recording = record([
      { messageId: sent, lease, to: 'sent' },
      { messageId: failed, lease, to: 'failed', reason: 'recipient_not_found', isToldByNetwork: true },
    ]);
    await waitFor(() => someoneWaits(database.db, 2));
  });
  await Promise.all([writing, recording]);
  await assertNoDeadlock();
});

test('nor do sends to people who write from such numbers in another order', async () => {
  const scope = await newScope();
  const { instanceId, lease } = scope;
  const pairs = [
    ['5584988880001', '558488880001'],
    ['5584988880002', '558488880002'],
    ['5584988880003', '558488880003'],
  ] as const;
  for (const [number, account] of pairs) await seedLead(scope, number, account);
  const failed: string[] = [];
  for (const [, account] of pairs) failed.push(await seedSend(scope, jidOf(account), 'queued'));
  let writing: Promise<unknown> | undefined;
  let recording: Promise<unknown> | undefined;
  await database.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM lids WHERE instance_id = $1 AND lid = $2 FOR UPDATE', [
      instanceId,
      jidOf(pairs[1][0]),
    ]);
    const messages = pairs.map(([number]) => received(scope, number));
    writing = createInboundRecorder(parts).push({ lease, messages });
    await waitFor(() => someoneWaits(database.db));
    const why = { to: 'failed', reason: 'recipient_not_found', isToldByNetwork: true } as const;
    recording = record([failed[2]!, failed[0]!].map((messageId) => ({ messageId, lease, ...why })));
    await waitFor(() => someoneWaits(database.db, 2));
  });
  await Promise.all([writing, recording]);
  await assertNoDeadlock();
});

test('nor do receipts of messages that another device deletes in another order', async () => {
  const scope = await newScope();
  const { instanceId, lease } = scope;
  const chat = jidOf('5511987654321');
  const ids = [await seedSend(scope, chat, 'sent'), await seedSend(scope, chat, 'sent')];
  let receipts: Promise<unknown> | undefined;
  let deleting: Promise<unknown> | undefined;
  await database.db.transaction(async (sql) => {
    await sql.query('SELECT 1 FROM messages WHERE id = $1 FOR UPDATE', [ids[0]]);
    receipts = record(ids.map((messageId) => ({ messageId, lease, to: 'delivered' as const })));
    await waitFor(() => someoneWaits(database.db));
    const at = new Date();
    const change = { kind: 'deleted', chat, from: jidOf('5511900000000'), fromMe: true, at } as const;
    deleting = recordNetworkChanges(
      parts,
      { instanceId, lease },
      ids.toReversed().map((id) => ({ ...change, networkId: networkIdOf(id) })),
    );
    deleting.catch(() => undefined);
    await waitFor(() => someoneWaits(database.db, 2));
  });
  await Promise.all([receipts, deleting]);
  await assertNoDeadlock();
  const { rows } = await parts.db.query(
    'SELECT status, deleted_at IS NOT NULL AS deleted FROM messages WHERE instance_id = $1',
    [instanceId],
  );
  assert.deepEqual(rows, Array(2).fill({ status: 'delivered', deleted: true }));
});
