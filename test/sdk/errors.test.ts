import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createClient, PosthornError } from '@posthorn/sdk/index.ts';
import { freePort } from '../support/process.ts';
import { type Answer, json, refuse, startHttp, TRACE_ID } from './http-server.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';

/** The error of a read of an instance. */
async function errorOf(answer: Answer, timeoutMs = 20_000): Promise<PosthornError> {
  const server = await startHttp(answer);
  try {
    const client = createClient({ baseUrl: server.url, apiKey: 'svc_secret', retries: 0, timeoutMs });
    return await rejection(client.instances.get({ instanceId: INSTANCE }));
  } finally {
    await server.close();
  }
}

async function rejection(promise: Promise<unknown>): Promise<PosthornError> {
  const error = await promise.then(
    () => assert.fail('it should have failed'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PosthornError, String(error));
  return error;
}

describe('an answer that is an error', () => {
  test('carries the code, status, message and trace id of the service', async () => {
    const error = await errorOf((res) => refuse(res, 404, 'INSTANCE_NOT_FOUND'));
    assert.deepEqual(
      { code: error.code, status: error.status, message: error.message, traceId: error.traceId },
      { code: 'INSTANCE_NOT_FOUND', status: 404, message: 'instance not found', traceId: TRACE_ID },
    );
    assert.deepEqual(error.fields, {});
    assert.equal(error.retryAfterMs, null);
  });

  test('carries the further fields of the guard', async () => {
    const error = await errorOf((res) =>
      refuse(res, 409, 'BLOCKED_NO_RECIPROCITY', { remote_jid: 'x@lid', count: 4, threshold: 3 }),
    );
    assert.deepEqual(error.fields, { remote_jid: 'x@lid', count: 4, threshold: 3 });
  });

  test('says how long to wait, in seconds or as a date', async () => {
    const seconds = await errorOf((res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '7' }));
    assert.equal(seconds.retryAfterMs, 7_000);
    const at = new Date(Date.now() + 60_000).toUTCString();
    const date = await errorOf((res) => refuse(res, 503, 'SERVICE_UNAVAILABLE', {}, { 'retry-after': at }));
    assert.ok(date.retryAfterMs !== null && date.retryAfterMs > 50_000 && date.retryAfterMs <= 60_000);
    const junk = await errorOf((res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '-1' }));
    assert.equal(junk.retryAfterMs, null);
  });

  test('is read the same from billing, with its smaller envelope', async () => {
    const error = await errorOf((res) =>
      json(
        res,
        409,
        { error_code: 'PROFILE_EXISTS', message: 'a profile exists' },
        { 'x-trace-id': TRACE_ID },
      ),
    );
    assert.equal(error.code, 'PROFILE_EXISTS');
    assert.equal(error.traceId, TRACE_ID);
  });

  for (const [status, code] of [
    [502, 'BAD_GATEWAY'],
    [503, 'SERVICE_UNAVAILABLE'],
    [504, 'GATEWAY_TIMEOUT'],
    [403, 'FORBIDDEN'],
    [418, 'HTTP_418'],
  ] as const) {
    test(`${status} as a proxy's HTML page is ${code} and no syntax error`, async () => {
      const error = await errorOf(
        (res) => void res.writeHead(status, { 'content-type': 'text/html' }).end('<html><h1>Oops</h1>'),
      );
      assert.equal(error.code, code);
      assert.equal(error.status, status);
      assert.match(error.message, /text\/html/);
      assert.doesNotMatch(error.message, /Oops/);
    });
  }

  test('keeps the JSON of an unknown envelope as fields', async () => {
    const error = await errorOf((res) =>
      json(res, 503, { status: 'unavailable', service: 'messaging', checks: { database: 'away' } }),
    );
    assert.equal(error.code, 'SERVICE_UNAVAILABLE');
    assert.deepEqual(error.fields.checks, { database: 'away' });
  });

  test('is not followed when it points elsewhere, so the key stays here', async () => {
    const other = await startHttp((res) => json(res, 200, {}));
    const error = await errorOf((res) => void res.writeHead(302, { location: other.url }).end());
    assert.equal(error.code, 'UNEXPECTED_REDIRECT');
    assert.equal(other.seen.length, 0);
    await other.close();
  });
});

describe('a success that the service cannot have sent', () => {
  test('is BAD_RESPONSE', async () => {
    const error = await errorOf(
      (res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>Log in to the Wi-Fi'),
    );
    assert.equal(error.code, 'BAD_RESPONSE');
    assert.equal(error.status, 200);
  });
});

describe('no answer', () => {
  test('because nobody listens is NETWORK and names the address, not the path or the key', async () => {
    const port = await freePort();
    const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'svc_secret', retries: 0 });
    const error = await rejection(client.instances.get({ instanceId: INSTANCE }));
    assert.equal(error.code, 'NETWORK');
    assert.equal(error.status, 0);
    assert.match(error.message, new RegExp(`127.0.0.1:${port}: connection refused`));
    assert.doesNotMatch(error.message, /svc_|6a2f41a3/);
  });

  test('because the connection was reset is NETWORK', async () => {
    const error = await errorOf((res) => void res.socket?.resetAndDestroy());
    assert.equal(error.code, 'NETWORK');
  });

  test('because it broke off in the middle of the body is NETWORK', async () => {
    const error = await errorOf((res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      res.write('{"id":');
      setTimeout(() => res.socket?.destroy(), 20);
    });
    assert.equal(error.code, 'NETWORK');
  });

  test('within the time given is TIMEOUT', async () => {
    const error = await errorOf(() => undefined, 300);
    assert.equal(error.code, 'TIMEOUT');
    assert.match(error.message, /300 ms/);
  });

  test('because the body only drips in is TIMEOUT too', async () => {
    const started = performance.now();
    const error = await errorOf((res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => res.write(' '), 50);
      res.once('close', () => clearInterval(drip));
    }, 300);
    assert.equal(error.code, 'TIMEOUT');
    assert.ok(performance.now() - started < 10_000);
  });

  test('because the caller aborted it is the reason that the caller gave', async () => {
    const reason = new Error('no longer needed');
    const controller = new AbortController();
    const server = await startHttp(() => controller.abort(reason));
    const client = createClient({ baseUrl: server.url });
    await assert.rejects(client.instances.list({}, { signal: controller.signal }), reason);
    await assert.rejects(client.instances.list({}, { signal: controller.signal }), reason);
    assert.equal(server.seen.length, 1, 'nothing is sent once it is called off');
    await server.close();
  });
});
