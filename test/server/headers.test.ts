import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { startTestBilling, type TestBilling } from '../billing/billing-harness.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { seedCompany } from '../support/seed.ts';
import { headOf, openSlowClient } from '../support/slow-client.ts';
import { validBodies } from './fixtures.ts';

const TOKEN = 'a token for the metrics, long enough';

let messaging: TestMessaging;
let billing: TestBilling;
before(async () => {
  messaging = await startTestMessaging({ NODE_ENV: 'production', METRICS_TOKEN: TOKEN });
  billing = await startTestBilling();
});
after(async () => {
  await messaging.close();
  await billing.close();
});

describe('the headers of every answer', () => {
  test('keep it from caches and from being taken for another type, on every route, refused or not', async () => {
    const { apiKey } = await seedCompany(messaging.parts.db);
    for (const key of [undefined, apiKey])
      for (const [service, contract] of [
        [messaging, messagingContract],
        [billing, billingContract],
      ] as const)
        for (const { name, route } of listRoutes(contract)) {
          if (metaOf(route).raw === 'sse') continue;
          const path = route.path.replaceAll(/:\w+/g, '1');
          const hasBody = 'body' in route && typeof route.body === 'object';
          const answer = await fetch(service.url + path, {
            method: route.method,
            redirect: 'manual',
            headers: {
              ...(key ? { 'x-api-key': key } : {}),
              ...(hasBody ? { 'content-type': 'application/json' } : {}),
            },
            ...(hasBody ? { body: JSON.stringify(validBodies[name] ?? {}) } : {}),
          });
          await answer.arrayBuffer();
          assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', name);
          assert.match(answer.headers.get('cache-control') ?? '', /no-store|private/, name);
          const hsts = answer.headers.get('strict-transport-security');
          if (service === messaging) assert.equal(hsts, 'max-age=31536000', name);
          else assert.equal(hsts, null, `${name}: not in production`);
        }
  });

  test('are on a preflight, an unknown path and bad HTTP as well', async () => {
    for (const [method, path] of [
      ['OPTIONS', '/v1/instances'],
      ['GET', '/nowhere'],
    ]) {
      const answer = await fetch(messaging.url + path, { method: method! });
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(answer.headers.get('cache-control'), 'no-store', path);
    }
    const client = await openSlowClient(messaging.url);
    client.socket.write('nonsense\r\n\r\n');
    await client.closed;
    assert.match(client.text(), /^HTTP\/1\.1 400 [\s\S]*nosniff[\s\S]*no-store/);
  });

  test('are on an event stream', async () => {
    const { apiKey } = await seedCompany(messaging.parts.db);
    const client = await openSlowClient(messaging.url);
    client.socket.write(headOf('GET', '/v1/events/stream', { 'x-api-key': apiKey }));
    while (!client.text().includes('\r\n\r\n')) await new Promise((resolve) => setTimeout(resolve, 20));
    client.socket.destroy();
    assert.match(client.text(), /x-content-type-options: nosniff/i);
    assert.match(client.text(), /cache-control: [^\r]*no-(cache|store)/i);
  });
});

describe('GET /metrics', () => {
  const read = async (url: string, headers: Record<string, string>) =>
    (await fetch(`${url}/metrics`, { headers })).status;

  test('needs the token, where there is one', async () => {
    assert.equal(await read(messaging.url, {}), 401);
    assert.equal(await read(messaging.url, { authorization: 'Bearer another token' }), 401);
    assert.equal(await read(messaging.url, { authorization: `Bearer ${TOKEN}` }), 200);
  });

  test('is for this machine alone without one, and not through a proxy on it', async () => {
    assert.equal(await read(billing.url, {}), 200);
    for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip'])
      assert.equal(await read(billing.url, { [name]: '198.51.100.1' }), 401, name);
  });
});
