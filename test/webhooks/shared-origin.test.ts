import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, logsOf, seedWebhook, startDispatcher, startReceiver } from './support.ts';

/** With 8 attempts each, before anything is known of them: together the maximum of one endpoint. */
const HANGING = 8;
const FIRST_ATTEMPTS = 8;
const QUICK = 5;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('endpoints that hang keep none on the same host waiting', async (t) => {
  // As on a host that many tenants share: one path answers, the others never do.
  const receiver = await startReceiver((req, res) => {
    if (req.url === '/quick') res.end('ok');
  });
  t.after(receiver.close);
  const slow = await seedCompany(parts.db);
  const quick = await seedCompany(parts.db);
  const hanging: { id: number }[] = [];
  for (let i = 0; i < HANGING; i += 1)
    hanging.push(await seedWebhook(parts.db, slow.companyId, `${receiver.url}/hangs/${i}`));
  const quickOne = await seedWebhook(parts.db, quick.companyId, `${receiver.url}/quick`);
  const dispatcher = await startDispatcher(parts, { leaseMs: 120_000, timeoutMs: 60_000 });
  t.after(dispatcher.close);
  await emitEvents(parts, slow.companyId, 2 * FIRST_ATTEMPTS);
  await waitFor(() => receiver.requests === HANGING * FIRST_ATTEMPTS);
  await emitEvents(parts, quick.companyId, QUICK);
  const logs = await waitFor(async () => {
    const found = await logsOf(parts.db, quickOne.id);
    return found.length === QUICK && found;
  });
  for (const { success, latency_ms: latencyMs } of logs) {
    assert.ok(success);
    tellFigure('a delivery beside endpoints that hang', latencyMs, { atMost: 1_000 });
  }
  for (const { id } of hanging)
    assert.deepEqual(await logsOf(parts.db, id), [], 'before any of those that hang was given up');
});
