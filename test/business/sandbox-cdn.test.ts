import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { png } from '../media/samples.ts';
import { controlOf } from '../network/sandbox-harness.ts';
import { startTestMessaging } from '../support/messaging.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

test('pictures of the sandbox’s own CDN are kept, and of nothing else on this machine', async (t) => {
  const [ours, other] = await Promise.all([createSandboxServer(), createSandboxServer()]);
  const api = await startTestMessaging({ SANDBOX_URL: ours.url });
  t.after(async () => {
    await api.close();
    await Promise.all([ours.close(), other.close()]);
  });
  const { companyId } = await seedCompany(api.parts.db);
  const scope = { companyId, instanceId: await seedInstance(api.parts.db, companyId) };
  const image_base64 = (await png()).toString('base64');
  const urls: string[] = [];
  for (const server of [ours, other]) {
    const body = { products: [{ id: 'p', image_base64 }] };
    const { products } = await controlOf(server.controlUrl).post('/phones/5511999990000/business', body);
    urls.push(server.controlUrl + products[0].image_url);
  }
  const kept = await api.media.networkImages.keep(scope, urls);
  assert.deepEqual([...kept.keys()], [urls[0]]);
});
