import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, logsOf, seedWebhook, startDispatcher, startReceiver } from './support.ts';

const CONNECTIONS = 2;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('an endpoint that hangs takes no connection from another one on the same host', async (t) => {
  // As on a host that many tenants use: one path answers, the other never does.
  const receiver = await startReceiver((req, res) => {
    if (req.url === '/quick') res.end('ok');
  });
  t.after(receiver.close);
  const slow = await seedCompany(parts.db);
  const quick = await seedCompany(parts.db);
  await seedWebhook(parts.db, slow.companyId, `${receiver.url}/hangs`);
  const webhook = await seedWebhook(parts.db, quick.companyId, `${receiver.url}/quick`);
  const dispatcher = await startDispatcher(parts, {
    timeoutMs: 3_000,
    outboundOptions: { allowPrivate: true, connectionsPerOrigin: CONNECTIONS },
  });
  t.after(dispatcher.close);
  await emitEvents(parts, slow.companyId, 3 * CONNECTIONS);
  await waitFor(() => receiver.requests === CONNECTIONS);
  await emitEvents(parts, quick.companyId, CONNECTIONS);
  const logs = await waitFor(async () => {
    const found = await logsOf(parts.db, webhook.id);
    return found.length === CONNECTIONS && found;
  });
  for (const { success, latency_ms: latencyMs } of logs)
    assert.ok(success && latencyMs < 1_000, `success ${success} after ${latencyMs} ms`);
});
