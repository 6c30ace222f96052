import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { apiError } from '@posthorn/contract/api-error.ts';
import { c, route } from '@posthorn/contract/route-meta.ts';
import type { Jwt } from '@posthorn/core/accounts/authentication/jwt.ts';
import { createAccounts } from '@posthorn/core/accounts/create-accounts.ts';
import { createStrangerLimits } from '@posthorn/core/limits/limit-strangers.ts';
import { createLoadShedder } from '@posthorn/core/limits/shed-load.ts';
import { createRateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import { createAddressReader } from '@posthorn/core/platform/http/client-address.ts';
import { transferLimits } from '@posthorn/core/platform/http/transfer-limits.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createCors } from '@posthorn/server/http/cors.ts';
import { createApp, type HttpApp } from '@posthorn/server/http/create-app.ts';
import { serveContract } from '@posthorn/server/http/serve-contract.ts';
import { z } from 'zod/v4';
import { testConfig } from '../support/config.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedSession } from '../support/seed.ts';

const contract = {
  open: route(
    { auth: 'none', access: 'public', summary: 'open' },
    { method: 'GET', path: '/open', responses: { 200: z.object({ ok: z.boolean() }) } },
  ),
  socket: route(
    { auth: 'any', access: 'all', raw: 'ws', summary: 'socket' },
    { method: 'GET', path: '/socket', responses: { 101: c.noBody() } },
  ),
  echo: route(
    { auth: 'any', access: 'all', summary: 'echo', operation: 'echo' },
    {
      method: 'POST',
      path: '/echo',
      body: z.object({ text: z.string().min(1), count: z.int().optional() }),
      responses: { 201: z.object({ text: z.string(), company_id: z.int() }) },
    },
  ),
  thing: route(
    { auth: 'any', access: 'owner_admin', notFound: 'WEBHOOK_NOT_FOUND', summary: 'thing' },
    {
      method: 'GET',
      path: '/things/:webhookId',
      query: z.object({ limit: z.coerce.number().int().min(1).default(5) }),
      responses: { 200: z.object({ id: z.string(), limit: z.int() }) },
    },
  ),
  verified: route(
    { auth: 'jwt', access: 'superadmin', requiresVerifiedEmail: true, summary: 'jwt only' },
    { method: 'DELETE', path: '/admin', responses: { 204: c.noBody() } },
  ),
  broken: route(
    { auth: 'none', access: 'public', summary: 'broken', errors: ['CONFLICT'] },
    {
      method: 'GET',
      path: '/broken',
      query: z.object({ how: z.string() }),
      responses: { 200: z.object({ n: z.int() }) },
    },
  ),
};

describe('the pipeline that every request passes', () => {
  let parts: Parts;
  let app: HttpApp;
  let url: string;
  let port: number;
  let owner: SeededCompany;
  let agent: SeededCompany;
  let jwt: Jwt;
  const logged: string[] = [];

  before(async () => {
    parts = await createParts();
    const config = testConfig({ FRONTEND_URL: 'https://console.example.test' });
    const accounts = createAccounts(parts, config);
    const { authenticator } = accounts;
    jwt = accounts.deps.jwt;
    const metrics = createMetrics({ collectProcess: false });
    const log = { error: (entry: { err: Error }) => logged.push(String(entry.err)), warn: () => undefined };
    const deps = {
      log: log as never,
      validateResponses: true,
      isDraining: () => false,
      envelope: 'full' as const,
      isProduction: false,
      cors: createCors(config.FRONTEND_URL),
      metrics,
      authenticator,
      checkPrincipal: async () => undefined,
      csrfTokensOf: () => ['abc'],
      rateLimiter: createRateLimiter(parts),
      shedder: createLoadShedder({ probe: async () => undefined, metrics }),
      strangers: createStrangerLimits({ ...parts, perMinute: config.PUBLIC_RATE_PER_MINUTE }),
      addressOf: createAddressReader(config.TRUSTED_PROXIES),
      transfers: transferLimits(config),
    };
    app = createApp(deps);
    serveContract(
      app,
      contract,
      {
        open: () => ({ status: 200, body: { ok: true } }),
        // Nobody with credentials asks for it here.
        socket: () => undefined as never,
        echo: async ({ body, principal }) => ({
          status: 201,
          body: { text: body.text, company_id: principal.companyId },
        }),
        thing: ({ params, query }) => ({ status: 200, body: { id: params.webhookId, limit: query.limit } }),
        verified: () => ({ status: 204 }),
        broken: async ({ query }) => {
          if (query.how === 'throws') throw new Error('the pool is on fire at 10.0.0.1');
          if (query.how === 'undocumented') throw apiError('INSTANCE_BANNED');
          if (query.how === 'documented') throw apiError('CONFLICT', { fields: { remote_jid: 'x' } });
          if (query.how === 'status') return { status: 418 } as never;
          if (query.how === 'extra') return { status: 200, body: { n: 1, secret: 'x' } as { n: number } };
          return { status: 200, body: { n: 'one' as unknown as number } };
        },
      },
      deps,
    );
    port = await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${port}`;
    owner = await seedCompany(parts.db);
    agent = await seedCompany(parts.db, { role: 'agent' });
  });
  after(async () => {
    await app.close();
    await parts.close();
  });

  const echo = (init: RequestInit & { headers?: Record<string, string> } = {}, key = owner.apiKey) =>
    fetch(`${url}/echo`, {
      method: 'POST',
      body: JSON.stringify({ text: 'hi' }),
      ...init,
      headers: {
        'content-type': 'application/json',
        'x-api-key': key,
        'idempotency-key': 'k1',
        ...init.headers,
      },
    });

  async function refusal(response: Response) {
    const body = (await response.json()) as Record<string, unknown>;
    assert.equal(body.trace_id, response.headers.get('x-trace-id'));
    assert.equal(body.error, body.message);
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
    return { status: response.status, code: body.error_code, message: body.message, body };
  }

  test('every answer carries a trace id of its own', async () => {
    const ids = await Promise.all(
      ['/open', '/open', '/nowhere', '/things/1'].map(async (path) =>
        (await fetch(url + path)).headers.get('x-trace-id'),
      ),
    );
    for (const id of ids)
      assert.match(id ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('a valid request reaches its handler as the contract parsed it', async () => {
    const response = await echo({ body: JSON.stringify({ text: 'hi', unknown: 1 }) });
    assert.equal(response.status, 201);
    assert.deepEqual(await response.json(), { text: 'hi', company_id: owner.companyId });
    const thing = await fetch(`${url}/things/12?limit=7`, { headers: { 'x-api-key': owner.apiKey } });
    assert.deepEqual(await thing.json(), { id: '12', limit: 7 });
  });

  test('authenticated answers carry the rate headers, refusals for the role too', async () => {
    for (const response of [
      await echo(),
      await fetch(`${url}/things/1`, { headers: { 'x-api-key': agent.apiKey } }),
    ]) {
      assert.equal(response.headers.get('x-ratelimit-limit'), '1000000');
      assert.ok(Number(response.headers.get('x-ratelimit-remaining')) > 0);
      assert.ok(Number(response.headers.get('x-ratelimit-reset')) * 1000 > parts.clock.now().getTime());
    }
    assert.equal((await fetch(`${url}/open`)).headers.get('x-ratelimit-limit'), null);
  });

  test('over the limit it is 429 RATE_LIMITED with Retry-After, and nothing reaches the handler', async () => {
    const small = await seedCompany(parts.db, { requestsPerMinute: 3 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => echo({}, small.apiKey)));
    assert.equal(answers.filter((answer) => answer.status === 201).length, 3);
    const refused = answers.find((answer) => answer.status === 429)!;
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal(refused.headers.get('x-ratelimit-remaining'), '0');
    assert.equal((await refusal(refused)).code, 'RATE_LIMITED');
  });

  test('refusals come in order: credentials, role, key, body', async () => {
    const bad = '{"text":';
    assert.equal(
      (await refusal(await echo({ body: bad, headers: { 'x-api-key': '' } }))).code,
      'UNAUTHORIZED',
    );
    assert.equal((await refusal(await echo({ body: bad }, 'svc_no'))).code, 'TOKEN_INVALID');
    assert.equal(
      (await refusal(await fetch(`${url}/things/x`, { headers: { 'x-api-key': agent.apiKey } }))).code,
      'INSUFFICIENT_PERMISSIONS',
    );
    const noKey = await refusal(await echo({ body: bad, headers: { 'idempotency-key': '' } }));
    assert.deepEqual([noKey.status, noKey.code], [400, 'IDEMPOTENCY_KEY_REQUIRED']);
    const longKey = await refusal(await echo({ headers: { 'idempotency-key': 'x'.repeat(256) } }));
    assert.deepEqual([longKey.status, longKey.code], [400, 'BAD_REQUEST']);
    assert.equal((await refusal(await echo({ body: bad }))).code, 'INVALID_JSON');
  });

  test('a route for JWTs takes no key', async () => {
    const response = await fetch(`${url}/admin`, {
      method: 'DELETE',
      headers: { 'x-api-key': owner.apiKey },
    });
    assert.deepEqual([response.status, (await refusal(response)).code], [401, 'UNAUTHORIZED']);
  });

  test('a body of the wrong shape names the field', async () => {
    const cases: [string, string, RegExp][] = [
      ['{}', 'MISSING_FIELD', /text/],
      ['', 'MISSING_FIELD', /text/],
      ['[]', 'BAD_REQUEST', /body/],
      ['"x"', 'BAD_REQUEST', /body/],
      ['{"text":5}', 'BAD_REQUEST', /text/],
      ['{"text":"x","count":1.5}', 'BAD_REQUEST', /count/],
      ['{"text":"a\\u0000b"}', 'BAD_REQUEST', /cannot be stored/],
      ['{"text":"\\ud83d"}', 'BAD_REQUEST', /cannot be stored/],
    ];
    for (const [body, code, message] of cases) {
      const refused = await refusal(await echo({ body }));
      assert.deepEqual([refused.status, refused.code], [400, code], body);
      assert.match(String(refused.message), message);
    }
    assert.equal((await echo({ body: '{"text":"\\ud83d\\ude00"}' })).status, 201);
  });

  test('a body in another encoding than UTF-8 is refused, and no letter is replaced', async () => {
    const body = '{"text":"Olá"}';
    const refused = await refusal(await echo({ body: Buffer.from(body, 'latin1') }));
    assert.deepEqual([refused.status, refused.code], [400, 'BAD_REQUEST']);
    assert.match(String(refused.message), /UTF-8/);
    const taken = await echo({ body: Buffer.from(body) });
    assert.deepEqual([taken.status, await taken.json()], [201, { text: 'Olá', company_id: owner.companyId }]);
  });

  test('half a million brackets are refused like any other body', async () => {
    const deep = `${'['.repeat(250_000)}"\\u0000"${']'.repeat(250_000)}`;
    assert.equal((await refusal(await echo({ body: deep }))).code, 'BAD_REQUEST');
  });

  test('a body that is too large is 413, another content type is 400', async () => {
    const large = await refusal(await echo({ body: JSON.stringify({ text: 'x'.repeat(1024 * 1024) }) }));
    assert.deepEqual([large.status, large.code], [413, 'PAYLOAD_TOO_LARGE']);
    for (const type of ['text/plain', 'application/xml', 'nonsense']) {
      const refused = await refusal(await echo({ headers: { 'content-type': type } }));
      assert.deepEqual([refused.status, refused.code], [400, 'BAD_REQUEST'], type);
    }
  });

  test('an id of the wrong shape answers as an unknown one', async () => {
    for (const id of ['abc', '0', '-1', '1.5', '99999999999', '1%2F2']) {
      const refused = await refusal(
        await fetch(`${url}/things/${id}`, { headers: { 'x-api-key': owner.apiKey } }),
      );
      assert.deepEqual([refused.status, refused.code], [404, 'WEBHOOK_NOT_FOUND'], id);
    }
  });

  test('unknown routes, wrong methods and bad URLs answer with the envelope', async () => {
    assert.equal((await refusal(await fetch(`${url}/nowhere`))).code, 'NOT_FOUND');
    assert.equal((await refusal(await fetch(`${url}/open`, { method: 'DELETE' }))).code, 'NOT_FOUND');
    assert.equal((await refusal(await fetch(`${url}/things/%zz`))).status, 400);
    const nul = await fetch(`${url}/things/1?limit=%00`, { headers: { 'x-api-key': owner.apiKey } });
    assert.equal((await refusal(nul)).code, 'BAD_REQUEST');
  });

  test('a connection that does not speak HTTP is answered with the envelope and closed', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('GARBAGE\r\n\r\n'));
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /"error_code":"BAD_REQUEST"/);
  });

  test('a request is answered as what it was, also when something follows it that is no HTTP', async () => {
    const body = '{"text":"hi"}';
    const head = `POST /echo HTTP/1.1\r\nHost: x\r\nX-API-Key: ${owner.apiKey}\r\nIdempotency-Key: k\r\n`;
    const one = `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    for (const [sent, answers] of [
      [one, 1],
      [one + one, 2],
    ] as const) {
      const client = connect(port, '127.0.0.1', () => client.write(`${sent}\0`));
      // Until the server ends the connection.
      const text = Buffer.concat(await client.toArray()).toString();
      assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), Array(answers).fill('HTTP/1.1 201'));
    }
  });

  test('what Node would answer by itself is answered with the envelope, also before an upgrade', async () => {
    const upgrade = 'GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    for (const [head, status, code] of [
      ['GET /nowhere HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n', 404, 'NOT_FOUND'],
      ['GET /open HTTP/1.1\r\n\r\n', 400, 'BAD_REQUEST'],
    ] as const) {
      const client = connect(port, '127.0.0.1', () => client.write(head + upgrade));
      let text = '';
      client.on('data', (chunk) => {
        text += chunk;
      });
      await waitFor(() => text.includes('UNAUTHORIZED'));
      client.destroy();
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.match(text, new RegExp(`"error_code":"${code}"`));
      assert.equal(/x-trace-id: (\S+)/i.exec(text)?.[1], /"trace_id":"([^"]+)"/.exec(text)?.[1]);
    }
  });

  test('a handler that fails, or breaks the contract, is a 500 without details', async () => {
    for (const how of ['throws', 'undocumented', 'status', 'extra', 'wrong']) {
      const before = logged.length;
      const refused = await refusal(await fetch(`${url}/broken?how=${how}`));
      assert.deepEqual(
        [refused.status, refused.code, refused.message],
        [500, 'INTERNAL_ERROR', 'internal error'],
        how,
      );
      assert.equal(logged.length, before + 1, 'the cause is logged');
    }
  });

  test('a documented error brings its extra fields at the top level', async () => {
    const refused = await refusal(await fetch(`${url}/broken?how=documented`));
    assert.deepEqual([refused.status, refused.code, refused.body.remote_jid], [409, 'CONFLICT', 'x']);
  });

  test('HEAD answers as GET without a body', async () => {
    const head = await fetch(`${url}/open`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('content-length'), String('{"ok":true}'.length));
    assert.equal(await head.text(), '');
  });

  test('any page may call with a key; cookies are for the console alone', async () => {
    const preflight = await fetch(`${url}/echo`, {
      method: 'OPTIONS',
      headers: { origin: 'https://shop.example.test', 'access-control-request-method': 'POST' },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get('access-control-allow-origin'), '*');
    for (const name of [
      'Authorization',
      'Content-Type',
      'X-API-Key',
      'X-CSRF-Token',
      'X-Force-Send',
      'Idempotency-Key',
      'Last-Event-ID',
    ])
      assert.ok(preflight.headers.get('access-control-allow-headers')?.includes(name), name);
    const console = await fetch(`${url}/open`, { headers: { origin: 'https://console.example.test' } });
    assert.equal(console.headers.get('access-control-allow-origin'), 'https://console.example.test');
    assert.equal(console.headers.get('access-control-allow-credentials'), 'true');
    for (const name of ['X-Trace-ID', 'X-RateLimit-Limit', 'Retry-After', 'Idempotent-Replayed'])
      assert.ok(console.headers.get('access-control-expose-headers')?.includes(name), name);
  });

  test('with the refresh cookie and a JWT an unsafe request needs its CSRF token; a key is proof enough', async () => {
    const token = await jwt.sign({
      companyId: owner.companyId,
      userId: owner.userId,
      role: 'owner',
      isSuperadmin: false,
      pwdChangedAtMs: Date.now(),
      ...(await seedSession(parts.db, owner)),
    });
    const cookie = 'svc_refresh_token=r; svc_csrf_token=abc';
    const send = async (headers: Record<string, string>, key = '') => (await echo({ headers }, key)).status;
    const authorization = `Bearer ${token}`;
    assert.equal(await send({ authorization }), 201);
    assert.equal(await send({ authorization, cookie }), 403);
    assert.equal(await send({ authorization, cookie, 'x-csrf-token': 'abd' }), 403);
    assert.equal(await send({ authorization, cookie, 'x-csrf-token': 'abc' }), 201);
    assert.equal(await send({ cookie }, owner.apiKey), 201);
  });

  test('an upgrade to something that is no WebSocket route is answered as a plain request', async () => {
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(`${url}/open`, {
        headers: { connection: 'Upgrade', upgrade: 'h2c, foo', 'http2-settings': 'x' },
      });
      request.on('response', (response) => resolve(response.statusCode));
      request.on('error', reject);
      request.end();
    });
    assert.equal(status, 200);
  });

  test('a handshake where no WebSocket is served is a request like any other, with its limits', async () => {
    const client = connect(port, '127.0.0.1');
    let text = '';
    client.on('data', (chunk) => {
      text += chunk;
    });
    const ask = (path: string) =>
      client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    ask('/open');
    await waitFor(() => text.includes('{"ok":true}'));
    ask('/nowhere');
    await waitFor(() => text.includes('NOT_FOUND'));
    client.destroy();
    assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 404']);
  });

  test('a refused handshake ends its connection, also when the client keeps its side open', async () => {
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    client.write('GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [socket] = await accepted;
    const text = Buffer.concat(await client.toArray()).toString();
    await waitFor(() => socket.destroyed);
    client.destroy();
    assert.match(text, /^HTTP\/1\.1 401 /);
    assert.match(text, /"error_code":"UNAUTHORIZED"/);
  });

  test('a connection is used again after a refusal', async () => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    const body = '{"text":';
    const one = `POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    socket.write(one + one);
    await waitFor(() => (text.match(/HTTP\/1\.1 401/g) ?? []).length >= 2);
    socket.destroy();
    assert.equal((text.match(/HTTP\/1\.1 401/g) ?? []).length, 2);
  });
});
