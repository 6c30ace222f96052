import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { SYNC_ACTION_TIMEOUT_MS } from '@posthorn/contract/limits.ts';
import { tellFigure } from '../support/figures.ts';
import { startTestMessaging } from '../support/messaging.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

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
