import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createAcceptor } from '@posthorn/core/sending/accept-send.ts';
import { type FireDeps, fireScheduled } from '@posthorn/core/sending/fire-scheduled.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

/** A registered worker whose pulse reports life for the next `looks` checks. */
async function newPulse(looks: number): Promise<Pulse> {
  const { rows } = await parts.db.query<{ id: number }>(
    `INSERT INTO workers (name, tag, backend_pid, beat_at) VALUES ('worker', $1, 0, now()) RETURNING id`,
    [randomUUID()],
  );
  let left = looks;
  return {
    isAlive() {
      left -= 1;
      return left >= 0;
    },
    id: () => rows[0]!.id,
    onFenced: () => undefined,
    onAlive: () => undefined,
  };
}

function fire(
  pulse: Pulse,
  db: Partial<Parts['db']> = {},
  acceptor: FireDeps['acceptor'] = createAcceptor(parts),
  // Texts have none.
  media: Partial<FireDeps['media']> = {},
): Promise<number> {
  const deps = { ...parts, db: { ...parts.db, ...db }, acceptor, pulse };
  return fireScheduled({ ...deps, media: media as FireDeps['media'] });
}

const TEXTS = ['first', 'second', 'third'];

/** {@link TEXTS} again and again, overdue by some seconds, at an instance of their own. */
async function scheduleTexts(count = TEXTS.length): Promise<string> {
  const { companyId, userId } = await seedCompany(parts.db);
  const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED' });
  for (let nth = 0; nth < count; nth += 1)
    await parts.db.query(
      `INSERT INTO scheduled_sends (id, company_id, instance_id, type, send_at, status, body, idempotency_key, force,
                                    user_id, is_superadmin, trace_id, created_at)
       VALUES ($1, $2, $3, 'text', $4, 'scheduled', $5, $6, true, $7, false, $1, now())`,
      [
        newId(),
        companyId,
        instanceId,
        new Date(parts.clock.now().getTime() - 10_000 + nth),
        { to: '5511987654321', text: TEXTS[nth % TEXTS.length] },
        randomUUID(),
        userId,
      ],
    );
  return instanceId;
}

async function acceptedBy(instanceId: string): Promise<string[]> {
  const { rows } = await parts.db.query<{ text: string }>(
    `SELECT message.content ->> 'text' AS text FROM outbox JOIN messages message ON message.id = outbox.message_id
     WHERE outbox.instance_id = $1 ORDER BY outbox.seq`,
    [instanceId],
  );
  return rows.map(({ text }) => text);
}

async function statusesOf(instanceId: string): Promise<string[]> {
  const { rows } = await parts.db.query<{ status: string }>(
    'SELECT status FROM scheduled_sends WHERE instance_id = $1 ORDER BY send_at',
    [instanceId],
  );
  return rows.map(({ status }) => status);
}

/** Commits, and loses the answer. */
const cutOff: Parts['db']['transaction'] = async (...args) => {
  await parts.db.transaction(...args);
  throw new Error('Connection terminated unexpectedly');
};

test('a worker that may have been declared dead leaves the rest of its scheduled sends to its successor', async () => {
  const instanceId = await scheduleTexts();
  // One check before it claims, one before the first send.
  await fire(await newPulse(2));
  assert.deepEqual(await acceptedBy(instanceId), ['first']);
  parts.clock.advance(15_000);
  await fire(await newPulse(10));
  assert.deepEqual(await acceptedBy(instanceId), TEXTS);
});

test('scheduled sends whose claim was committed, but not answered, leave with the next look of their worker', async () => {
  const instanceId = await scheduleTexts();
  const pulse = await newPulse(100);
  await assert.rejects(fire(pulse, { transaction: cutOff }), /terminated/);
  assert.deepEqual(await acceptedBy(instanceId), []);
  await fire(await newPulse(10));
  assert.deepEqual(await acceptedBy(instanceId), [], 'another worker does not take them');
  await fire(pulse);
  assert.deepEqual(await acceptedBy(instanceId), TEXTS);
});

test('a long overdue send is not told as failed while the database cannot say whether it was accepted', async () => {
  const instanceId = await scheduleTexts();
  parts.clock.advance(20 * 60_000);
  const cut = createAcceptor({ ...parts, db: { ...parts.db, transaction: cutOff } });
  await fire(await newPulse(100), {}, cut);
  assert.deepEqual(await acceptedBy(instanceId), ['first'], 'the answer alone was lost');
  assert.deepEqual(await statusesOf(instanceId), ['claimed', 'claimed', 'claimed']);
  parts.clock.advance(15_000);
  await fire(await newPulse(100));
  assert.deepEqual(await statusesOf(instanceId), ['queued', 'queued', 'queued']);
  assert.deepEqual(await acceptedBy(instanceId), TEXTS);
});

test('a long overdue send is not told as failed while the database cannot say what it refers to', async () => {
  const instanceId = await scheduleTexts(1);
  await parts.db.query(`UPDATE scheduled_sends SET type = 'reaction', body = $2 WHERE instance_id = $1`, [
    instanceId,
    { to: '5511987654321', message_id: '3EB0C0FFEE12345678AB', emoji: '👍' },
  ]);
  parts.clock.advance(20 * 60_000);
  const away = async (query: { name?: string }, values?: unknown[]) => {
    if (query.name === 'messages-find-referenced') throw new Error('Connection terminated unexpectedly');
    return (parts.db.query as (...args: unknown[]) => Promise<unknown>)(query, values);
  };
  await fire(await newPulse(100), { query: away as Parts['db']['query'] });
  assert.deepEqual(await statusesOf(instanceId), ['claimed']);
  parts.clock.advance(15_000);
  await fire(await newPulse(100));
  assert.deepEqual(await statusesOf(instanceId), ['queued']);
});

test('a scheduled status that fails without its media is told of the chat of statuses', async () => {
  const instanceId = await scheduleTexts(1);
  await parts.db.query(`UPDATE scheduled_sends SET type = 'status_image', body = $2 WHERE instance_id = $1`, [
    instanceId,
    { media_id: randomUUID() },
  ]);
  parts.clock.advance(20 * 60_000);
  await fire(await newPulse(100), {}, undefined, { find: async () => null });
  const { rows } = await parts.db.query<{ type: string; data: { chat: string; from: string } }>(
    'SELECT type, data FROM events WHERE instance_id = $1',
    [instanceId],
  );
  assert.deepEqual(
    rows.map(({ type, data }) => [type, data.chat, data.from]),
    [['status_image.delivery_failed', STATUS_BROADCAST, STATUS_BROADCAST]],
  );
});

test('scheduled sends of one company that are due in great number do not hold up those of another one', async () => {
  const many = await scheduleTexts(250);
  const more = await scheduleTexts(250);
  parts.clock.advance(5_000);
  const other = await scheduleTexts();
  await fire(await newPulse(1_000));
  assert.deepEqual(await acceptedBy(other), TEXTS);
  for (const instanceId of [many, more]) {
    const begun = await acceptedBy(instanceId);
    assert.ok(begun.length < 250, `${begun.length} at once`);
    assert.deepEqual(begun.slice(0, 3), TEXTS, 'the earliest first');
  }
});
