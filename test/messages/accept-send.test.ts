import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { ApiError } from '@posthorn/contract/api-error.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { type Acceptor, createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import type { SendCommand } from '@posthorn/core/sending/send-command.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { startTestPostgres } from '../support/postgres.ts';
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

/** A command that has a message, as opposed to a refused one. */
type MessageCommand = Extract<SendCommand, { message: object }>;

let chats = 0;
function newChat(): string {
  chats += 1;
  return `5511${String(chats).padStart(9, '0')}@s.whatsapp.net`;
}

function textTo(
  instanceId: string,
  chatJid: string,
  text: string,
  more: Partial<MessageCommand> = {},
): MessageCommand {
  return {
    principal: company.principal,
    instanceId,
    operation: 'text',
    idempotencyKey: randomUUID(),
    force: false,
    body: { to: chatJid, text },
    traceId: newId(),
    message: { type: 'text', chatJid, content: { text } },
    ...more,
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

async function countRows(instanceId: string): Promise<{ messages: number; tasks: number }> {
  const found = await parts.db.query<{ messages: number; tasks: number }>(
    `SELECT (SELECT count(*) FROM messages WHERE instance_id = $1)::integer AS messages,
            (SELECT count(*) FROM outbox WHERE instance_id = $1)::integer AS tasks`,
    [instanceId],
  );
  return found.rows[0]!;
}

test('50 concurrent repeats of one key, over two processes, make one message', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const command = textTo(instanceId, newChat(), 'once');
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => send(command, i)));
  assert.equal(new Set(answers.map((answer) => answer.messageId)).size, 1);
  assert.equal(new Set(answers.map((answer) => answer.taskId)).size, 1);
  assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
  assert.deepEqual(await countRows(instanceId), { messages: 1, tasks: 1 });
});

test('the same key with another body is refused with 422 and queues nothing', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const first = textTo(instanceId, chat, 'one');
  await send(first);
  const changed = { ...textTo(instanceId, chat, 'two'), idempotencyKey: first.idempotencyKey };
  const err = await codeOf(send(changed));
  assert.equal(err.code, 'IDEMPOTENCY_KEY_REUSED');
  assert.equal(err.status, 422);
  assert.deepEqual(await countRows(instanceId), { messages: 1, tasks: 1 });
});

test('a body that differs only in the order of its fields is the same body', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const first = textTo(instanceId, chat, 'same', { body: { to: chat, text: 'same' } });
  const accepted = await send(first);
  const again = await send({ ...first, body: { text: 'same', to: chat } });
  assert.deepEqual(again, { ...accepted, replayed: true });
});

test('a key is forgotten after 72 hours and may be used for another message', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const command = textTo(instanceId, chat, 'first');
  const first = await send(command);
  parts.clock.advance(71 * 3600_000);
  assert.equal((await send(command)).messageId, first.messageId);
  parts.clock.advance(2 * 3600_000);
  const second = await send({
    ...textTo(instanceId, chat, 'second'),
    idempotencyKey: command.idempotencyKey,
  });
  assert.notEqual(second.messageId, first.messageId);
  assert.equal(second.replayed, false);
});

test('exactly 3 of 20 parallel sends to one contact over two processes pass', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => send(textTo(instanceId, chat, `text ${i}`), i)),
  );
  const refused = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as ApiError] : [],
  );
  assert.equal(results.length - refused.length, 3);
  assert.deepEqual(new Set(refused.map((err) => err.code)), new Set(['BLOCKED_TEMPERATURE_LIMIT']));
  assert.deepEqual(refused[0]?.fields, {
    remote_jid: chat,
    score: 0,
    tier: 'cold',
    max_consecutive: 3,
    outbound_consecutive: 3,
  });
  assert.deepEqual(await countRows(instanceId), { messages: 3, tasks: 3 });
});

test('passive mode refuses every send, and X-Force-Send passes it and the guard, each with an audit row where it stopped', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId, {
    settings: { passive_mode_enabled: true },
  });
  const chat = newChat();
  assert.equal((await codeOf(send(textTo(instanceId, chat, 'x')))).code, 'PASSIVE_MODE_ENABLED');
  for (let i = 0; i < 5; i += 1) await send(textTo(instanceId, chat, 'x', { force: true }));
  assert.deepEqual(await countRows(instanceId), { messages: 5, tasks: 5 });
  const audit = await parts.db.query<{ action: string; n: number }>(
    'SELECT action, count(*)::integer AS n FROM audit_log WHERE instance_id = $1 GROUP BY action ORDER BY action',
    [instanceId],
  );
  assert.deepEqual(audit.rows, [
    // The first was no duplicate.
    { action: 'anti_spam.force_send', n: 4 },
    { action: 'passive_mode.force_send', n: 5 },
  ]);
});

test('a forced send that nothing had stopped leaves no audit row', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const audits = async () =>
    (
      await parts.db.query<{ action: string; detail: { remote_jid: string } }>(
        'SELECT action, detail FROM audit_log WHERE instance_id = $1',
        [instanceId],
      )
    ).rows;
  const [busy, fresh] = [newChat(), newChat()];
  for (let i = 0; i < 3; i += 1) await send(textTo(instanceId, busy, `text ${i}`, { force: true }));
  await send(textTo(instanceId, fresh, 'first', { force: true }));
  await send(textTo(instanceId, '120363000000000001@g.us', 'to a group', { force: true }));
  assert.deepEqual(await audits(), []);
  // The fourth is above the limit of a cold contact.
  await send(textTo(instanceId, busy, 'text 4', { force: true }));
  assert.deepEqual(
    (await audits()).map(({ action, detail }) => [action, detail.remote_jid]),
    [['anti_spam.force_send', busy]],
  );
});

test('a replay answers the current state even where a new send would be refused', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const command = textTo(instanceId, newChat(), 'before');
  const first = await send(command);
  await parts.db.query(`UPDATE messages SET status = 'read' WHERE id = $1`, [first.messageId]);
  await parts.db.query(`UPDATE instances SET settings = '{"passive_mode_enabled": true}' WHERE id = $1`, [
    instanceId,
  ]);
  assert.deepEqual(await send(command), { ...first, status: 'sent', replayed: true });
});

for (const [state, code] of [
  ['CREATED', 'INSTANCE_NOT_CONNECTED'],
  ['DISCONNECTED', 'INSTANCE_NOT_CONNECTED'],
  ['BANNED', 'INSTANCE_BANNED'],
  ['HARD_PAUSED', 'INSTANCE_HARD_PAUSED'],
] as const) {
  test(`an instance that is ${state} refuses with ${code} and queues nothing`, async () => {
    const instanceId = await seedInstance(parts.db, company.companyId, { state });
    assert.equal((await codeOf(send(textTo(instanceId, newChat(), 'x')))).code, code);
    assert.deepEqual(await countRows(instanceId), { messages: 0, tasks: 0 });
  });
}

test('a foreign instance answers like a missing one', async () => {
  const other = await seedCompany(parts.db);
  const foreign = await seedInstance(parts.db, other.companyId);
  const one = await codeOf(send(textTo(foreign, newChat(), 'x')));
  const none = await codeOf(send(textTo(newId(), newChat(), 'x')));
  assert.equal(one.code, 'INSTANCE_NOT_FOUND');
  assert.deepEqual([one.code, one.publicMessage, one.fields], [none.code, none.publicMessage, none.fields]);
});

test('a quoted UUID must be a message of this instance; it travels as a network id', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const chat = newChat();
  const first = await send(textTo(instanceId, chat, 'quoted'));
  const quoting = textTo(instanceId, chat, 'quoting');
  quoting.message.quotedId = first.messageId;
  const second = await send(quoting);
  const row = await parts.db.query<{ quoted_id: string }>('SELECT quoted_id FROM messages WHERE id = $1', [
    second.messageId,
  ]);
  assert.equal(row.rows[0]?.quoted_id, first.messageId.replaceAll('-', '').toUpperCase());

  const elsewhere = textTo(await seedInstance(parts.db, company.companyId), chat, 'x');
  elsewhere.message.quotedId = first.messageId;
  assert.equal((await codeOf(send(elsewhere))).code, 'MESSAGE_NOT_FOUND');
  assert.equal((await countRows(elsewhere.instanceId)).messages, 0);
});

test('a request that the database refuses does not fail the others of its batch', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  const poison = textTo(instanceId, newChat(), 'a \u0000 that no jsonb can hold');
  const results = await Promise.allSettled([
    ...Array.from({ length: 10 }, (_, i) => send(textTo(instanceId, newChat(), `fine ${i}`))),
    send(poison),
  ]);
  assert.deepEqual(
    results.map((result) => result.status),
    [...Array.from({ length: 10 }, () => 'fulfilled'), 'rejected'],
  );
  assert.deepEqual(await countRows(instanceId), { messages: 10, tasks: 10 });
});

test('one instance, many senders over two processes: the outbox order is the order of the answers', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId);
  // Each sender waits for its answer before the next send, so its own messages have an order.
  const senders = await Promise.all(
    Array.from({ length: 8 }, async (_, sender) => {
      const ids: string[] = [];
      for (let i = 0; i < 25; i += 1) {
        ids.push((await send(textTo(instanceId, newChat(), `${sender} ${i}`), sender + i)).messageId);
      }
      return ids;
    }),
  );
  const rows = await parts.db.query<{ task_id: string }>(
    'SELECT task_id FROM outbox WHERE instance_id = $1 ORDER BY seq',
    [instanceId],
  );
  const order = rows.rows.map((row) => row.task_id);
  assert.equal(order.length, 200);
  for (const ids of senders) {
    assert.deepEqual(
      order.filter((id) => ids.includes(id)),
      ids,
    );
  }
});

test('a database that can not say answers 503 and nothing is queued', async () => {
  const server = await startTestPostgres();
  const db = createDb({ url: server.urlOf('posthorn_template'), poolSize: 4, log: parts.log, name: 'test' });
  try {
    const seeded = await seedCompany(db);
    const instanceId = await seedInstance(db, seeded.companyId);
    const acceptor = createAcceptor({ ...parts, db });
    const command = { ...textTo(instanceId, newChat(), 'x'), principal: seeded.principal };
    await server.kill();
    const err = await codeOf(acceptor.acceptSend(command));
    assert.equal(err.code, 'SERVICE_UNAVAILABLE');
    await server.restart();
    assert.equal((await acceptor.acceptSend(command)).replayed, false);
  } finally {
    await db.close();
    await server.stop();
  }
});
