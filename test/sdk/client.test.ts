import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { createBillingClient, createClient } from '@posthorn/sdk/index.ts';
import { type Answer, type HttpServer, json, startHttp } from './http-server.ts';

async function withServer(
  answer: Answer,
  use: (server: HttpServer, client: ReturnType<typeof createClient>) => Promise<void>,
): Promise<void> {
  const server = await startHttp(answer);
  try {
    await use(server, createClient({ baseUrl: server.url, apiKey: 'svc_test', retries: 0 }));
  } finally {
    await server.close();
  }
}

const ok: Answer = (res) => json(res, 200, { ok: true });
const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

describe('the client', () => {
  test('has a method for every route of the contract that a plain request can call', () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:1' }) as unknown as Record<string, unknown>;
    for (const { name, route } of listRoutes(messagingContract)) {
      const isCallable =
        !['sse', 'ws'].includes(metaOf(route).raw ?? '') &&
        Object.keys(route.responses).some((status) => status.startsWith('2'));
      const method = name
        .split('.')
        .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], client);
      if (isCallable) assert.equal(typeof method, 'function', name);
    }
  });

  test('sends the method, path, key and JSON body of the route', async () => {
    await withServer(
      (res) => json(res, 201, { id: INSTANCE, name: 'sales' }),
      async ({ seen }, client) => {
        const made = await client.instances.create({ body: { name: 'sales' } });
        assert.equal(made.id, INSTANCE);
        assert.equal(`${seen[0]?.method} ${seen[0]?.url}`, 'POST /v1/instances');
        assert.equal(seen[0]?.headers['x-api-key'], 'svc_test');
        assert.equal(seen[0]?.headers['content-type'], 'application/json');
        assert.deepEqual(JSON.parse(seen[0]?.body ?? ''), { name: 'sales' });
      },
    );
  });

  test('keeps any characters of an id inside its segment of the path', async () => {
    await withServer(ok, async ({ seen }, client) => {
      await client.messages.get({ instanceId: INSTANCE, messageId: '../a/b?c=d#e f%2F' });
      assert.equal(seen[0]?.url, `/v1/instances/${INSTANCE}/message/..%2Fa%2Fb%3Fc%3Dd%23e%20f%252F`);
    });
  });

  test('refuses ids that would change the path, before anything is sent', async () => {
    await withServer(ok, async ({ seen }, client) => {
      for (const instanceId of ['', '.', '..']) {
        await assert.rejects(client.instances.get({ instanceId }), TypeError);
      }
      assert.equal(seen.length, 0);
    });
  });

  test('writes lists in the query as repeated names and leaves undefined out', async () => {
    await withServer(ok, async ({ seen }, client) => {
      await client.events.list({
        query: { types: ['message.*', 'instance.connected'], limit: 5, after: undefined },
      });
      const query = new URL(seen[0]?.url ?? '', 'http://x').searchParams;
      assert.deepEqual(query.getAll('types'), ['message.*', 'instance.connected']);
      assert.deepEqual([...query.keys()].sort(), ['limit', 'types', 'types']);
    });
  });

  test('answers undefined for 204', async () => {
    await withServer(
      (res) => void res.writeHead(204).end(),
      async (_, client) => {
        assert.equal(await client.instances.remove({ instanceId: INSTANCE }), undefined);
      },
    );
  });

  test('sends no body and no content type where the route takes none', async () => {
    await withServer(ok, async ({ seen }, client) => {
      await client.instances.connect({ instanceId: INSTANCE });
      assert.equal(seen[0]?.headers['content-type'], undefined);
      assert.equal(seen[0]?.body, '');
    });
  });

  test('sends an empty object when every field of a body is optional and none is given', async () => {
    await withServer(ok, async ({ seen }, client) => {
      await client.tokens.create();
      assert.equal(seen[0]?.body, '{}');
    });
  });

  test('gives every send a key of its own, and takes the one given', async () => {
    await withServer(ok, async ({ seen }, client) => {
      const send = (idempotencyKey?: string) =>
        client.messages.sendText({
          instanceId: INSTANCE,
          body: { to: '+5511999990000', text: 'hi' },
          idempotencyKey,
        });
      await send();
      await send();
      await send('order-1');
      const keys = seen.map(({ headers }) => headers['idempotency-key']);
      assert.match(String(keys[0]), /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
      assert.notEqual(keys[0], keys[1]);
      assert.equal(keys[2], 'order-1');
      assert.equal(seen[0]?.headers['x-force-send'], undefined);
    });
  });

  test('bypasses the guard when asked to', async () => {
    await withServer(ok, async ({ seen }, client) => {
      await client.messages.sendText({
        instanceId: INSTANCE,
        body: { to: '+5511999990000', text: 'hi' },
        force: true,
      });
      assert.equal(seen[0]?.headers['x-force-send'], 'true');
    });
  });

  test('hands text answers on as text', async () => {
    await withServer(
      (res) => void res.writeHead(200, { 'content-type': 'text/plain' }).end('up 1\n'),
      async (_, client) => assert.equal(await client.health.metrics(), 'up 1\n'),
    );
  });

  test('asks a token function for the token of each request', async () => {
    const server = await startHttp(ok);
    try {
      let asked = 0;
      const client = createClient({ baseUrl: `${server.url}/api/`, token: () => `jwt-${++asked}` });
      await client.health.health();
      await client.health.health();
      assert.deepEqual(
        server.seen.map(({ headers }) => headers.authorization),
        ['Bearer jwt-1', 'Bearer jwt-2'],
      );
      assert.equal(server.seen[0]?.url, '/api/health', 'a path in the base URL stays in front');
    } finally {
      await server.close();
    }
  });

  test('shows status and headers of the answer on request', async () => {
    await withServer(
      (res) => json(res, 202, {}, { 'idempotent-replayed': 'true' }),
      async (_, client) => {
        let replayed: string | null = null;
        await client.messages.sendText(
          { instanceId: INSTANCE, body: { to: '+5511999990000', text: 'hi' } },
          { onResponse: ({ headers }) => (replayed = headers.get('idempotent-replayed')) },
        );
        assert.equal(replayed, 'true');
      },
    );
  });

  test('throws the error of such a function: the request was answered', async () => {
    await withServer(
      (res) => json(res, 202, {}),
      async (server, client) => {
        const mistake = new RangeError('of the program');
        const onResponse = () => {
          throw mistake;
        };
        const body = { to: '+5511999990000', text: 'hi' };
        await assert.rejects(
          client.messages.sendText({ instanceId: INSTANCE, body }, { onResponse }),
          (error) => error === mistake,
        );
        assert.equal(server.seen.length, 1);
      },
    );
  });

  test('reaches other routes through request, as JSON, as a form and unread', async () => {
    await withServer(ok, async ({ seen }, client) => {
      assert.deepEqual(
        await client.request({ method: 'POST', path: '/x', query: { a: [1, 2] }, body: { b: 1 } }),
        { ok: true },
      );
      assert.equal(seen[0]?.url, '/x?a=1&a=2');
      await client.request({
        method: 'POST',
        path: '/f',
        body: { file: new File(['data'], 'a.txt'), to: 'x', mentions: ['p', 'q'], ptt: false },
      });
      assert.match(seen[1]?.headers['content-type'] ?? '', /^multipart\/form-data; boundary=/);
      assert.match(seen[1]?.body ?? '', /name="to"\r\n\r\nx\r\n/, 'unquoted');
      assert.equal(seen[1]?.body.match(/name="mentions"/g)?.length, 2);
      assert.match(seen[1]?.body ?? '', /filename="a.txt"/);
      const response = await client.request<Response>({ path: '/raw', answer: 'response' });
      assert.equal(await response.text(), '{"ok":true}');
    });
  });
});

describe('the billing client', () => {
  test('has a method for every route of its contract, under the same credentials', async () => {
    const server = await startHttp(ok);
    const billing = createBillingClient({ baseUrl: server.url, apiKey: 'svc_test' });
    for (const { name, route } of listRoutes(billingContract)) {
      if (!Object.keys(route.responses).some((status) => status.startsWith('2'))) continue;
      const method = name
        .split('.')
        .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], billing);
      assert.equal(typeof method, 'function', name);
    }
    await billing.simulator.advanceClock({ body: { advance_seconds: 60 } });
    assert.equal(server.seen[0]?.url, '/v1/billing/simulator/clock');
    assert.equal(server.seen[0]?.headers['x-api-key'], 'svc_test');
    await server.close();
  });
});

describe('creating a client', () => {
  const bad: [string, Parameters<typeof createClient>[0]][] = [
    ['no URL', { baseUrl: 'localhost' }],
    ['another scheme', { baseUrl: 'ftp://example.com' }],
    ['credentials in the URL', { baseUrl: 'http://user:pass@example.com' }],
    ['a query in the URL', { baseUrl: 'http://example.com/?key=1' }],
    ['two credentials', { baseUrl: 'http://example.com', apiKey: 'a', token: 'b' }],
    ['a timeout that is no number', { baseUrl: 'http://example.com', timeoutMs: Number('30s') }],
    ['a deadline that is text', { baseUrl: 'http://example.com', deadlineMs: '9000' as unknown as number }],
    ['retries that are no number', { baseUrl: 'http://example.com', retries: Number('two') }],
  ];
  for (const [what, options] of bad) {
    test(`refuses ${what}`, () => assert.throws(() => createClient(options), TypeError));
  }

  test('never repeats a key that cannot be sent in its message', async () => {
    const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'svc_sëcret\n' });
    await assert.rejects(client.instances.list(), (error: Error) => {
      assert.ok(error instanceof TypeError);
      assert.doesNotMatch(error.message, /svc_/);
      return true;
    });
  });
});
