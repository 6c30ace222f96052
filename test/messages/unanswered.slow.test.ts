import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SYNC_ACTION_TIMEOUT_MS } from '@posthorn/contract/limits.ts';
import { tellFigure } from '../support/figures.ts';
import { startTestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { startSending } from '../support/sending.ts';

test('an action that no worker answers is 503 with Retry-After after 15 s, and is never done later', async () => {
  const api = await startTestMessaging();
  try {
    const company = await seedCompany(api.parts.db);
    const id = await seedInstance(api.parts.db, company.companyId);
    const startedMs = performance.now();
    const answer = await api.call('POST', `/v1/instances/${id}/messages/star`, {
      key: company.apiKey,
      headers: { 'idempotency-key': randomUUID() },
      body: { chat_jid: '5511999990000', message_id: 'A1', starred: true },
    });
    const tookMs = performance.now() - startedMs;
    assert.deepEqual([answer.status, answer.body.error_code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.ok(tookMs >= SYNC_ACTION_TIMEOUT_MS, `${tookMs} ms`);
    tellFigure('an action without an answer', tookMs, { atMost: SYNC_ACTION_TIMEOUT_MS + 2_000 });
    const left = await api.parts.db.query('SELECT 1 FROM network_calls');
    assert.equal(left.rows.length, 0);
  } finally {
    await api.close();
  }
});

test('an action that the network leaves unanswered is 503 when its worker stops, which does not wait for it', async () => {
  const pipeline = await startSending({ driver: { sendTimeoutMs: 600_000 } });
  try {
    const { db } = pipeline.api.parts;
    const instance = await pipeline.connect();
    const phone = pipeline.newPhone();
    const { message_id: id } = await pipeline.send(instance, '/messages/text', { to: phone, text: 'pin me' });
    await waitFor(async () => (await pipeline.eventsOf(id)).length > 0);
    const fault = { kind: 'delay_answers', delay_ms: 600_000, instance: instance.id };
    await pipeline.sandbox.post('/faults', fault);
    const pin = { chat_jid: phone, message_id: id, pin: true, duration_seconds: 86_400 };
    const pinned = pipeline.call(instance, 'POST', '/messages/pin', pin);
    await waitFor(async () => {
      const { rows } = await db.query<{ state: string }>('SELECT state FROM network_calls');
      return rows[0]?.state === 'taken';
    });
    const stopped = pipeline.worker.stop().then(() => 'stopped');
    assert.equal(await Promise.race([stopped, delay(60_000, 'waits', { ref: false })]), 'stopped');
    const { status, body } = await pinned;
    assert.deepEqual([status, body.error_code], [503, 'SERVICE_UNAVAILABLE']);
  } finally {
    await pipeline.close();
  }
});
