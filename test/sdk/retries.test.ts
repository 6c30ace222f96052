import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import {
  type Client,
  type ClientOptions,
  createClient,
  NotFoundError,
  PosthornError,
  UnavailableError,
} from '@posthorn/sdk/index.ts';
import { tellFigure } from '../support/figures.ts';
import { type Answer, json, refuse, startHttp } from './http-server.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const TEXT = { instanceId: INSTANCE, body: { to: '+5511999990000', text: 'hi' } };

async function setUp(answer: Answer, options: Partial<ClientOptions> = {}) {
  const server = await startHttp(answer);
  const client = createClient({ baseUrl: server.url, apiKey: 'svc_test', ...options });
  return { server, client, [Symbol.asyncDispose]: () => server.close() };
}

/** Fails in the given way this many times, then answers. */
function failing(times: number, fail: Answer, status = 200): Answer {
  return (res, request, index) =>
    index < times ? fail(res, request, index) : json(res, status, { ok: index });
}

/** Half an object, and then the connection is closed. */
function cut(res: ServerResponse, headers: object, status = 200): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers });
  res.write('{"ok":');
  setTimeout(() => res.socket?.end(), 20);
}

describe('a call that may be repeated', () => {
  const faults: [string, Answer][] = [
    ['a reset connection', (res) => void res.socket?.resetAndDestroy()],
    ['an HTML 502', (res) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502')],
    ['a 503 of the service', (res) => refuse(res, 503, 'SERVICE_UNAVAILABLE')],
    ['a 500', (res) => refuse(res, 500, 'INTERNAL_ERROR')],
    ['a 429', (res) => refuse(res, 429, 'RATE_LIMITED')],
    ['a body that was cut', (res) => cut(res, { 'content-length': '99' })],
    ['a body that was cut where nothing tells its length', (res) => cut(res, { connection: 'close' })],
    ['an error whose body was cut', (res) => cut(res, { 'content-length': '99' }, 503)],
  ];
  for (const [what, fail] of faults) {
    test(`is tried again when it is a read, after ${what}`, async () => {
      await using at = await setUp(failing(2, fail));
      assert.deepEqual(await at.client.instances.get({ instanceId: INSTANCE }), { ok: 2 });
    });
  }

  test('is tried again when it is a send, under the same key and with the same body', async () => {
    await using at = await setUp(failing(2, (res) => void res.socket?.resetAndDestroy(), 202));
    await at.client.messages.sendText(TEXT);
    const keys = at.server.seen.map(({ headers }) => headers['idempotency-key']);
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
    assert.equal(new Set(at.server.seen.map(({ body }) => body)).size, 1);
  });

  test('is tried again when it is a read whose attempt times out, and each attempt has its own timeout', async () => {
    await using at = await setUp(
      failing(1, () => undefined),
      { timeoutMs: 1_500 },
    );
    const answer = await at.client.instances.get({ instanceId: INSTANCE });
    assert.ok(at.server.seen.length >= 2, `${at.server.seen.length} attempts`);
    assert.deepEqual(answer, { ok: at.server.seen.length - 1 });
  });
});

describe('an answer with Retry-After', () => {
  const limited: Answer = (res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '0' });
  const unavailable: Answer = (res) => refuse(res, 503, 'SERVICE_UNAVAILABLE', {}, { 'retry-after': '0' });

  test('429: nothing was done, so it is tried again whatever the method', async () => {
    await using at = await setUp(failing(2, limited, 201));
    assert.deepEqual(await at.client.instances.create({ body: { name: 'sales' } }), { ok: 2 });
    await using changing = await setUp(failing(1, limited));
    assert.deepEqual(await changing.client.instances.update({ instanceId: INSTANCE, body: { name: 'x' } }), {
      ok: 1,
    });
  });

  const changes: [string, (client: Client) => PromiseLike<unknown>][] = [
    ['a POST', (client) => client.instances.create({ body: { name: 'sales' } })],
    ['a PATCH', (client) => client.instances.update({ instanceId: INSTANCE, body: { name: 'x' } })],
    ['a raw POST', (client) => client.request({ method: 'POST', path: '/v1/instances', body: {} })],
  ];
  for (const [what, change] of changes) {
    test(`503: ${what} without a key may have been done and is not repeated`, async () => {
      await using at = await setUp(failing(1, unavailable, 201));
      await assert.rejects(async () => change(at.client), {
        code: 'SERVICE_UNAVAILABLE',
        attempts: 1,
        retryAfterMs: 0,
      });
      assert.equal(at.server.seen.length, 1);
    });
  }

  const repeatable: [string, (client: Client) => PromiseLike<unknown>][] = [
    ['a read', (client) => client.instances.get({ instanceId: INSTANCE })],
    ['a PUT', (client) => client.request({ method: 'PUT', path: '/v1/x', body: {} })],
    ['a send, under the same key', (client) => client.messages.sendText(TEXT)],
    [
      'a raw POST under its key',
      (client) =>
        client.request({
          method: 'POST',
          path: '/v1/x',
          body: {},
          headers: { 'idempotency-key': 'order-1' },
        }),
    ],
  ];
  for (const [what, ask] of repeatable) {
    test(`503: ${what} is tried again`, async () => {
      await using at = await setUp(failing(2, unavailable));
      assert.deepEqual(await ask(at.client), { ok: 2 });
      assert.equal(new Set(at.server.seen.map(({ headers }) => headers['idempotency-key'])).size, 1);
    });
  }
});

describe('a deletion', () => {
  const reset: Answer = (res) => void res.socket?.resetAndDestroy();

  test('is tried again', async () => {
    await using at = await setUp((res, _, index) =>
      index === 0 ? reset(res, _, index) : void res.writeHead(204).end(),
    );
    assert.equal(await at.client.instances.remove({ instanceId: INSTANCE }), undefined);
    assert.equal(at.server.seen.length, 2);
  });

  test('succeeds when its answer was lost and the next attempt finds nothing', async () => {
    await using at = await setUp(failing(1, reset, 200));
    await using gone = await setUp((res, _, index) =>
      index === 0 ? reset(res, _, index) : refuse(res, 404, 'INSTANCE_NOT_FOUND'),
    );
    assert.equal(await gone.client.instances.remove({ instanceId: INSTANCE }), undefined);
    await assert.rejects(at.client.request({ method: 'DELETE', path: '/x', isRepeatable: false }));
  });

  test('throws NotFoundError when the object does not exist', async () => {
    await using at = await setUp((res) => refuse(res, 404, 'INSTANCE_NOT_FOUND'));
    await assert.rejects(at.client.instances.remove({ instanceId: INSTANCE }), NotFoundError);
  });
});

describe('a call that may not be repeated', () => {
  const fail: Answer = (res) => void res.socket?.resetAndDestroy();

  test('is sent once when it is a creation', async () => {
    await using at = await setUp(fail);
    await assert.rejects(at.client.instances.create({ body: { name: 'sales' } }), PosthornError);
    assert.equal(at.server.seen.length, 1);
  });

  test('is sent once when it is a change', async () => {
    await using at = await setUp(fail);
    await assert.rejects(at.client.instances.updateSettings({ instanceId: INSTANCE }), PosthornError);
    assert.equal(at.server.seen.length, 1);
  });

  test('is sent once when it is an unkeyed creation, refused without a Retry-After', async () => {
    await using at = await setUp((res) => refuse(res, 503, 'SERVICE_UNAVAILABLE'));
    await assert.rejects(at.client.instances.create({ body: { name: 'sales' } }), UnavailableError);
    assert.equal(at.server.seen.length, 1);
  });

  for (const [status, code] of [
    [400, 'BAD_REQUEST'],
    [401, 'TOKEN_INVALID'],
    [404, 'INSTANCE_NOT_FOUND'],
    [409, 'PASSIVE_MODE_ENABLED'],
    [422, 'IDEMPOTENCY_KEY_REUSED'],
    [502, 'MEDIA_FETCH_FAILED'],
  ] as const) {
    test(`is not tried again after ${status} ${code}, which is its answer`, async () => {
      await using at = await setUp((res) => refuse(res, status, code));
      await assert.rejects(at.client.messages.sendText(TEXT), { code });
      assert.equal(at.server.seen.length, 1);
    });
  }
});

describe('the limits of the retries:', () => {
  test('the client gives up after the configured number of retries', async () => {
    await using at = await setUp((res) => refuse(res, 503, 'SERVICE_UNAVAILABLE'), { retries: 1 });
    await assert.rejects(at.client.instances.list(), { code: 'SERVICE_UNAVAILABLE' });
    assert.equal(at.server.seen.length, 2);
    await assert.rejects(at.client.instances.list({}, { retries: 0 }), { code: 'SERVICE_UNAVAILABLE' });
    assert.equal(at.server.seen.length, 3);
  });

  test('the client waits as long as Retry-After asks', async () => {
    await using at = await setUp(
      failing(1, (res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '1' })),
    );
    const started = performance.now();
    await at.client.instances.list();
    const tookMs = performance.now() - started;
    assert.ok(tookMs >= 990, `${tookMs} ms`);
  });

  test('the client does not wait when Retry-After is past the deadline', async () => {
    await using at = await setUp((res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '30' }), {
      deadlineMs: 5_000,
    });
    const started = performance.now();
    await assert.rejects(at.client.instances.list(), { code: 'RATE_LIMITED', retryAfterMs: 30_000 });
    tellFigure('an answer whose Retry-After is past the deadline', performance.now() - started, {
      atMost: 4_000,
    });
    assert.equal(at.server.seen.length, 1);
  });

  test('the deadline holds over all attempts together', async () => {
    await using at = await setUp(() => undefined, { timeoutMs: 400, deadlineMs: 600, retries: 10 });
    const started = performance.now();
    await assert.rejects(at.client.instances.list(), { code: 'TIMEOUT' });
    tellFigure('a deadline of 600 ms over all attempts', performance.now() - started, { atMost: 4_000 });
    assert.ok(at.server.seen.length <= 2, `${at.server.seen.length} attempts`);
  });

  test('a call has no time limit when none is set', async () => {
    await using at = await setUp((res) => void setTimeout(() => json(res, 200, { ok: true }), 50), {
      timeoutMs: Number.POSITIVE_INFINITY,
    });
    assert.deepEqual(await at.client.instances.list(), { ok: true });
    assert.equal(at.server.seen.length, 1);
  });

  // Without the abort, the wait outlasts the test.
  test('the caller can abort the wait between two attempts', { timeout: 120_000 }, async () => {
    const leaving = new AbortController();
    const reason = new Error('enough');
    // The client warns as it begins to wait.
    const logger = { debug: () => undefined, warn: () => setTimeout(() => leaving.abort(reason), 100) };
    await using at = await setUp(
      (res) => refuse(res, 503, 'SERVICE_UNAVAILABLE', {}, { 'retry-after': '3600' }),
      { deadlineMs: Number.POSITIVE_INFINITY, logger },
    );
    const started = performance.now();
    await assert.rejects(at.client.instances.list({}, { signal: leaving.signal }), reason);
    tellFigure('the end of a wait that is called off', performance.now() - started, { atMost: 10_000 });
    assert.equal(at.server.seen.length, 1);
  });
});
