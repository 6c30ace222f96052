import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import type { Sending, TestInstance } from '../support/sending.ts';
import { aWhile, type Suspending, startSuspending } from './suspending.ts';

let at: Suspending;
let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  at = await startSuspending();
  pipeline = at.pipeline;
});
after(() => pipeline.close());
beforeEach(async () => {
  await at.setStatus('active');
  instance = await pipeline.connect();
});

describe('suspending a company', () => {
  test('disconnects its instances, which continue as before when it is reactivated', async () => {
    const idle = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
      state: 'DISCONNECTED',
    });
    await pipeline.call(instance, 'PATCH', '/settings', { auto_read: true });
    const was = await at.row(instance.id);
    await at.setStatus('suspended');
    await at.stateBecomes('DISCONNECTED', instance.id);
    const told = await pipeline.event(instance, 'instance.disconnected');
    assert.equal(told.data.reason, 'company_suspended');
    assert.deepEqual({ ...(await at.row(instance.id)), state: '' }, { ...was, state: '' });
    await at.setStatus('active');
    await at.stateBecomes('CONNECTED', instance.id);
    assert.deepEqual(await at.row(instance.id), was, 'pairing, settings and all');
    assert.equal((await at.row(idle)).state, 'DISCONNECTED');
    assert.equal(
      (await pipeline.call(instance, 'GET', '/connection')).body.moves[1].reason,
      'company_suspended',
    );
  });

  test('keeps queued messages, which are sent once when it is reactivated', async () => {
    const phone = pipeline.newPhone();
    const typed = { humanize_enabled: true };
    await pipeline.call(instance, 'PATCH', '/settings', typed);
    // The first text is typed for longer than this test runs.
    for (const text of ['x'.repeat(4_000), 'second'])
      await pipeline.send(instance, '/messages/text', { to: phone, text });
    await at.setStatus('suspended');
    await at.stateBecomes('DISCONNECTED', instance.id);
    await pipeline.api.parts.db.query(
      `UPDATE instances SET settings = '{"humanize_enabled": false}' WHERE id = $1`,
      [instance.id],
    );
    await aWhile();
    assert.equal(await at.ledgerOf(phone), 0);
    await at.setStatus('active');
    at.clock.advance(3_600_000);
    await waitFor(async () => (await at.ledgerOf(phone)) === 2);
  });

  test('keeps a task from a worker that does not know of it yet', async () => {
    const { createPendingLoader } = await import('@posthorn/core/sending/load-pending.ts');
    const away = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
      state: 'CONNECTED',
    });
    await pipeline.api.parts.db.query(`UPDATE instances SET state = 'CONNECTED' WHERE id = $1`, [away]);
    const other = { ...instance, id: away };
    await pipeline.send(other, '/messages/text', { to: pipeline.newPhone(), text: 'wait' });
    const pending = () => createPendingLoader(pipeline.api.parts).push({ instanceId: away, afterSeq: 0 });
    assert.equal((await pending()).length, 1);
    await at.setStatus('suspended');
    assert.equal((await pending()).length, 0);
    await at.setStatus('active');
    await at.suspendSubscription(true);
    assert.equal((await pending()).length, 0);
    await at.suspendSubscription(false);
    assert.equal((await pending()).length, 1);
  });

  test('leaves messages to its numbers with the network, which delivers them afterwards', async () => {
    await at.setStatus('suspended');
    await at.stateBecomes('DISCONNECTED', instance.id);
    const phone = pipeline.newPhone();
    await pipeline.sandbox.post('/phones', { phone, name: 'Ana' });
    await pipeline.sandbox.post(`/phones/${phone}/messages`, {
      to: instance.phone,
      type: 'text',
      text: 'hello?',
    });
    await aWhile();
    const received = async () =>
      (
        await pipeline.api.parts.db.query(
          `SELECT FROM messages WHERE instance_id = $1 AND direction = 'inbound'`,
          [instance.id],
        )
      ).rowCount;
    assert.equal(await received(), 0);
    await at.setStatus('active');
    await waitFor(async () => (await received()) === 1);
  });

  test('pairing codes, QRs and restarts are refused like connecting, also for a suspended subscription', async () => {
    const unpaired = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
      state: 'CREATED',
    });
    await at.suspendSubscription(true);
    await at.stateBecomes('DISCONNECTED', instance.id);
    const fresh = { ...instance, id: unpaired };
    const answers = [
      await pipeline.call(fresh, 'POST', '/pairing-code', { phone: pipeline.newPhone() }),
      await pipeline.call(fresh, 'POST', '/connect'),
      await pipeline.call(fresh, 'GET', '/qr'),
      await pipeline.call(instance, 'POST', '/restart'),
    ];
    const message = 'the subscription is suspended: pay what is due first';
    for (const { status, body } of answers)
      assert.deepEqual([status, body.error_code, body.message], [403, 'COMPANY_SUSPENDED', message]);
    const send = await pipeline.call(instance, 'POST', '/messages/text', {
      to: pipeline.newPhone(),
      text: 'x',
    });
    assert.deepEqual([send.status, send.body.error_code], [409, 'INSTANCE_NOT_CONNECTED']);
    await at.suspendSubscription(false);
    await at.stateBecomes('CONNECTED', instance.id);
    assert.equal((await at.row(unpaired)).state, 'CREATED');
  });
});

describe('scheduled sends of a suspended company', () => {
  const MINUTE_MS = 60_000;
  const schedule = async (phone: string) => {
    const send_at = new Date(at.clock.now().getTime() + MINUTE_MS).toISOString();
    const body = { type: 'text', send_at, body: { to: phone, text: 'later' } };
    const answer = await pipeline.call(instance, 'POST', '/messages/scheduled', body);
    assert.equal(answer.status, 202, answer.text);
    return answer.body.id as string;
  };
  const scheduled = async (id: string) =>
    (
      await pipeline.api.parts.db.query<{ status: string; failed_reason: string | null }>(
        'SELECT status, failed_reason FROM scheduled_sends WHERE id = $1',
        [id],
      )
    ).rows[0]!;
  const claimed = (id: string) =>
    waitFor(async () => {
      at.clock.advance(1_000);
      return (await scheduled(id)).status === 'claimed';
    });

  test('wait when they fall due, and go out when it is reactivated soon', async () => {
    const phone = pipeline.newPhone();
    const id = await schedule(phone);
    await at.setStatus('suspended');
    at.clock.advance(2 * MINUTE_MS);
    await claimed(id);
    await aWhile();
    assert.equal(await at.ledgerOf(phone), 0);
    await at.setStatus('active');
    await at.stateBecomes('CONNECTED', instance.id);
    await waitFor(async () => {
      at.clock.advance(1_000);
      return (await at.ledgerOf(phone)) === 1;
    });
  });

  test('fail with company_suspended when that takes longer than a send may be late', async () => {
    const phone = pipeline.newPhone();
    const id = await schedule(phone);
    await at.setStatus('suspended');
    at.clock.advance(2 * MINUTE_MS);
    await claimed(id);
    at.clock.advance(20 * MINUTE_MS);
    await waitFor(async () => {
      at.clock.advance(1_000);
      return (await scheduled(id)).status === 'failed';
    });
    assert.equal((await scheduled(id)).failed_reason, 'company_suspended');
    await at.setStatus('active');
    const { body } = await pipeline.call(instance, 'GET', '/messages/scheduled?status=failed');
    const shown = body.data.find((row: { id: string }) => row.id === id);
    assert.deepEqual([shown.status, shown.failed_reason], ['failed', 'company_suspended']);
    await at.stateBecomes('CONNECTED', instance.id);
    await aWhile();
    assert.equal(await at.ledgerOf(phone), 0);
  });
});
