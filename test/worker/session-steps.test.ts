import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { DEFAULT_SHARDS, shardOf } from '@posthorn/core/instances/shard.ts';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { cipher, startScripted } from '../support/scripted-network.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

let parts: Parts;
let company: SeededCompany;
before(async () => {
  parts = await createParts();
  company = await seedCompany(parts.db);
});
after(() => parts.close());

test('a session that is cut before its connection was recorded gets no sends', async (t) => {
  const instanceId = await seedInstance(parts.db, company.companyId, {
    state: 'DISCONNECTED',
    wanted: 'connected',
  });
  await parts.db.query('UPDATE instances SET credentials = $2 WHERE id = $1', [instanceId, cipher.seal({})]);
  const messageId = newId();
  await parts.db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     VALUES ($1, $2, $3, 'outbound', 'text', '5511988887777@s.whatsapp.net', 'queued', '{"text":"hi"}', now())`,
    [messageId, company.companyId, instanceId],
  );
  await parts.db.query(
    `INSERT INTO outbox (task_id, company_id, instance_id, shard, operation, message_id, created_at)
     VALUES ($1, $2, $3, $4, 'text', $1, now())`,
    [messageId, company.companyId, instanceId, shardOf(instanceId, DEFAULT_SHARDS)],
  );
  const sentOver: number[] = [];
  const { starting, opened } = startScripted(parts, (nth, sink) => {
    // Both before the worker has had time to record the first one; later sessions never connect.
    if (nth === 0)
      setImmediate(() => {
        sink.connected();
        sink.disconnected('connection_lost');
      });
    return {
      close: async () => undefined,
      recorded: () => undefined,
      typing: async () => undefined,
      async send() {
        sentOver.push(nth);
        throw new SendUnavailable('the connection is cut');
      },
    };
  });
  const worker = await starting;
  t.after(() => worker.stop());
  await waitFor(() => opened() >= 2);
  // A queue with a session would have tried by now.
  await delay(1_500);
  assert.deepEqual(sentOver, []);
  const { rows } = await parts.db.query('SELECT 1 FROM instance_moves WHERE instance_id = $1', [instanceId]);
  assert.equal(rows.length, 0, 'what was cut at once is not told as connected');
});

test('a QR of a session that is being closed is not shown', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId, {
    state: 'CREATED',
    wanted: 'connected',
  });
  const expiresAt = new Date(Date.now() + 60_000);
  const { starting } = startScripted(parts, (_nth, sink) => {
    setImmediate(() => sink.qr('first', expiresAt));
    return { close: async () => sink.qr('late', expiresAt) };
  });
  const worker = await starting;
  const stateIs = (state: string) =>
    waitFor(async () => {
      const { rows } = await parts.db.query<{ state: string }>('SELECT state FROM instances WHERE id = $1', [
        instanceId,
      ]);
      return rows[0]?.state === state;
    });
  await stateIs('PAIRING');
  await parts.db.query(`UPDATE instances SET wanted = 'disconnected' WHERE id = $1`, [instanceId]);
  parts.bus.notify('instance', instanceId);
  await stateIs('DISCONNECTED');
  // This resolves when every step is done.
  await worker.stop();
  const { rows } = await parts.db.query<{ to_state: string }>(
    'SELECT to_state FROM instance_moves WHERE instance_id = $1 ORDER BY id',
    [instanceId],
  );
  assert.deepEqual(
    rows.map(({ to_state }) => to_state),
    ['PAIRING', 'DISCONNECTED'],
  );
  const shown = await parts.db.query<{ qr: string }>(
    `SELECT data->>'qr' AS qr FROM events WHERE instance_id = $1 AND type = 'instance.qr_updated' ORDER BY tx, id`,
    [instanceId],
  );
  assert.deepEqual(
    shown.rows.map(({ qr }) => qr),
    ['first'],
  );
});

test('a pairing that is confirmed while a user logs out is not stored', async () => {
  const instanceId = await seedInstance(parts.db, company.companyId, {
    state: 'CREATED',
    wanted: 'connected',
  });
  const answers: Promise<unknown>[] = [];
  const { starting } = startScripted(parts, (_nth, sink) => {
    setImmediate(() => sink.qr('shown', new Date(Date.now() + 60_000)));
    return {
      logout: async () => undefined,
      async close() {
        const identity = {
          credentials: {},
          phone: '5511999990000',
          jid: '5511999990000@s.whatsapp.net',
          pushName: '',
        };
        answers.push(sink.paired(identity).catch((err: unknown) => err));
      },
    };
  });
  const worker = await starting;
  const read = async () => {
    const { rows } = await parts.db.query<{ state: string; is_paired: boolean }>(
      'SELECT state, credentials IS NOT NULL AS is_paired FROM instances WHERE id = $1',
      [instanceId],
    );
    return rows[0]!;
  };
  await waitFor(async () => (await read()).state === 'PAIRING');
  await parts.db.query(`UPDATE instances SET wanted = 'logged_out' WHERE id = $1`, [instanceId]);
  parts.bus.notify('instance', instanceId);
  await waitFor(() => answers.length > 0);
  // This resolves when every step is done.
  await worker.stop();
  assert.ok((await answers[0]) instanceof SendUnavailable, 'the network must not take it as done');
  assert.deepEqual(await read(), { state: 'DISCONNECTED', is_paired: false });
});
