import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ApiError } from '@posthorn/contract/api-error.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { type Acceptor, createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import type { SendCommand } from '@posthorn/core/sending/send-command.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
let company: SeededCompany;
/** Two acceptors in place of two API processes on one database. */
let acceptors: Acceptor[];

before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
  acceptors = [createAcceptor(parts), createAcceptor(parts)];
});
after(() => parts.close());

let chats = 0;
function newChat(): string {
  chats += 1;
  return `5511${String(chats).padStart(9, '0')}@s.whatsapp.net`;
}

function textTo(instanceId: string, chatJid: string, text: string): SendCommand {
  return {
    principal: company.principal,
    instanceId,
    operation: 'text',
    idempotencyKey: randomUUID(),
    force: false,
    body: { to: chatJid, text },
    traceId: newId(),
    message: { type: 'text', chatJid, content: { text } },
  };
}

function send(command: SendCommand, nth = 0) {
  return acceptors[nth % acceptors.length]!.acceptSend(command);
}

async function codeOf(sending: Promise<unknown>): Promise<ApiError> {
  const err = await sending.then(
    () => assert.fail('was accepted'),
    (cause) => cause,
  );
  assert.ok(err instanceof ApiError, String(err));
  return err;
}

test('the same content to the same chat is refused for 24 hours, with the time when it was first sent', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const sentAt = parts.clock.now().toISOString();
  await send(textTo(instanceId, chat, 'hello'));
  const err = await codeOf(send(textTo(instanceId, chat, 'hello'), 1));
  assert.equal(err.code, 'BLOCKED_DUPLICATE_CONTENT');
  assert.equal(err.fields?.remote_jid, chat);
  assert.match(String(err.fields?.content_hash), /^[0-9a-f]{64}$/);
  assert.equal(err.fields?.first_sent_at, sentAt);
  await send(textTo(instanceId, newChat(), 'hello'));
  parts.clock.advance(24 * 3600_000 + 1);
  await send(textTo(instanceId, chat, 'hello'));
});

test('content that never reached anybody may be sent again, and counts from then on', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const fail = ({ messageId }: { messageId: string }, reason: string) =>
    parts.db.query(`UPDATE messages SET status = 'failed', failed_reason = $2 WHERE id = $1`, [
      messageId,
      reason,
    ]);
  await fail(await send(textTo(instanceId, chat, 'hello')), 'cancelled');
  parts.clock.advance(60_000);
  const sentAt = parts.clock.now().toISOString();
  const again = await send(textTo(instanceId, chat, 'hello'));
  const err = await codeOf(send(textTo(instanceId, chat, 'hello'), 1));
  assert.deepEqual([err.code, err.fields?.first_sent_at], ['BLOCKED_DUPLICATE_CONTENT', sentAt]);
  // The recipient may have it.
  for (const reason of ['outcome_unknown', 'send_failed']) {
    await fail(again, reason);
    assert.equal((await codeOf(send(textTo(instanceId, chat, 'hello')))).code, 'BLOCKED_DUPLICATE_CONTENT');
  }
});

test('a send that was forced through while the first one waited counts when the first one is cancelled', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const end = ({ messageId }: { messageId: string }, status: string, reason: string | null) =>
    parts.db.query('UPDATE messages SET status = $2, failed_reason = $3 WHERE id = $1', [
      messageId,
      status,
      reason,
    ]);
  const hello = () => textTo(instanceId, chat, 'hello');
  const first = await send(hello());
  parts.clock.advance(60_000);
  const forcedAt = parts.clock.now().toISOString();
  const forced = await send({ ...hello(), force: true });
  await end(first, 'failed', 'cancelled');
  await end(forced, 'sent', null);
  const err = await codeOf(send(hello()));
  assert.deepEqual([err.code, err.fields?.first_sent_at], ['BLOCKED_DUPLICATE_CONTENT', forcedAt]);
  await end(forced, 'failed', 'cancelled');
  await send(hello());
});

test('only a few of many forced sends count while all of them wait', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const repeat = () => send({ ...textTo(instanceId, chat, 'hello'), force: true });
  for (let sent = 0; sent < 3; sent += 1) await Promise.all(Array.from({ length: 5 }, repeat));
  const { rows } = await parts.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM idempotency_keys k JOIN messages m ON m.id = k.message_id
     WHERE m.instance_id = $1 AND k.content_id IS NOT NULL`,
    [instanceId],
  );
  assert.equal(rows[0]?.n, 8);
});
