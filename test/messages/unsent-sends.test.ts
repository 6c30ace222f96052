import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ApiError } from '@posthorn/contract/api-error.ts';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { recordChangeTask } from '@posthorn/core/messages/record-change-task.ts';
import { createInboundRecorder } from '@posthorn/core/messages/record-inbound.ts';
import { createProgressRecorder, type Progress } from '@posthorn/core/messages/record-progress.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const CHAT = '5511987654321@s.whatsapp.net';

let parts: Parts;
let company: SeededCompany;

before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
});
after(() => parts.close());

/** An instance with one contact, who is cold: three sends in a row are the limit. */
async function startExchange() {
  const instanceId = await seedInstance(parts.db, company.companyId, { state: 'CONNECTED' });
  const shard = shardOf(instanceId, DEFAULT_SHARDS);
  const found = await parts.db.query<Lease>('SELECT shard, epoch FROM shards WHERE shard = $1', [shard]);
  const lease = found.rows[0]!;
  const acceptor = createAcceptor(parts);
  const recorder = createProgressRecorder(parts);
  const inbound = createInboundRecorder(parts);
  const accept = (operation: 'text' | 'delete', changes?: string) => {
    const text = randomUUID();
    parts.clock.advance(1_000);
    return acceptor.acceptSend({
      ...{ principal: company.principal, instanceId, operation, idempotencyKey: randomUUID(), force: false },
      ...{ body: { text }, traceId: newId() },
      message: { type: 'text', chatJid: CHAT, content: { text }, ...(changes && { changes }) },
    });
  };
  const failure = { lease, at: new Date(), reason: 'cancelled', wireState: 'not_sent' } as const;
  return {
    send: () => accept('text'),
    remove: (messageId: string) => accept('delete', messageId),
    sent: (messageId: string) => recorder.push({ messageId, lease, to: 'sent', at: new Date() }),
    fail: (messageId: string, more: Partial<Progress> = {}) =>
      recorder.push({ ...failure, messageId, to: 'failed', ...more }),
    failRemoval: (taskId: string) =>
      recordChangeTask(parts, { taskId, operation: 'delete', lease, at: failure.at, failure }),
    async receive() {
      parts.clock.advance(1_000);
      const message = {
        ...{ companyId: company.companyId, instanceId, networkId: randomUUID(), pushName: 'A' },
        ...{ chatJid: CHAT, senderJid: CHAT, type: 'text', content: { text: 'yes' }, at: new Date() },
      };
      await inbound.push({ lease, messages: [message] });
    },
    async refused() {
      const err = await accept('text').then(
        () => assert.fail('was accepted'),
        (cause) => cause,
      );
      assert.ok(err instanceof ApiError, String(err));
      return [err.code, err.fields?.outbound_consecutive];
    },
  };
}

const LIMIT = ['BLOCKED_TEMPERATURE_LIMIT', 3];

test('sends that never left make room for others to a contact that has not answered', async () => {
  const exchange = await startExchange();
  const [first, second, third] = [await exchange.send(), await exchange.send(), await exchange.send()];
  assert.deepEqual(await exchange.refused(), LIMIT);
  await Promise.all([exchange.sent(first.messageId), exchange.fail(second.messageId)]);
  // Its end is told twice: it counts once.
  await exchange.fail(third.messageId, { reason: 'recipient_not_found' });
  await exchange.fail(third.messageId, { reason: 'recipient_not_found' });
  await exchange.send();
  await exchange.send();
  assert.deepEqual(await exchange.refused(), LIMIT);
});

test('a send that may have reached the contact goes on counting', async () => {
  const exchange = await startExchange();
  const [first, second, third] = [await exchange.send(), await exchange.send(), await exchange.send()];
  await exchange.fail(first.messageId, { reason: 'outcome_unknown', wireState: 'unknown' });
  await exchange.sent(second.messageId);
  await exchange.fail(second.messageId, { reason: 'undeliverable', isToldByNetwork: true });
  await exchange.fail(third.messageId, { reason: 'undeliverable', isToldByNetwork: true });
  assert.deepEqual(await exchange.refused(), LIMIT);
});

test('a send of before the last answer makes no room when it is cancelled afterwards', async () => {
  const exchange = await startExchange();
  const former = await exchange.send();
  await exchange.receive();
  for (let nth = 0; nth < 3; nth += 1) await exchange.send();
  await exchange.fail(former.messageId);
  assert.deepEqual(await exchange.refused(), LIMIT);
});

test('a cancelled delete makes room too', async () => {
  const exchange = await startExchange();
  const { messageId } = await exchange.send();
  await exchange.sent(messageId);
  const removal = await exchange.remove(messageId);
  await exchange.send();
  assert.deepEqual(await exchange.refused(), LIMIT);
  await exchange.failRemoval(removal.taskId);
  await exchange.send();
  assert.deepEqual(await exchange.refused(), LIMIT);
});
