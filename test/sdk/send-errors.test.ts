import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AbortedError,
  ConflictError,
  ConnectionError,
  createClient,
  NotFoundError,
  PosthornError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
} from '@posthorn/sdk/index.ts';
import { type Answer, refuse, startHttp } from './http-server.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const TEXT = { instanceId: INSTANCE, body: { to: '+5511999990000', text: 'hi' } };

async function errorOf(
  answer: Answer,
  options: { timeoutMs?: number; retries?: number; signal?: AbortSignal } = {},
  idempotencyKey?: string,
): Promise<{ error: PosthornError; keys: unknown[] }> {
  const server = await startHttp(answer);
  try {
    const client = createClient({ baseUrl: server.url, apiKey: 'svc_test', retries: 1 });
    const error = await client.messages.sendText({ ...TEXT, idempotencyKey }, options).then(
      () => assert.fail('it should have failed'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof PosthornError, String(error));
    return { error, keys: server.seen.map(({ headers }) => headers['idempotency-key']) };
  } finally {
    await server.close();
  }
}

const FAULTS: readonly [string, Answer, typeof PosthornError, number][] = [
  ['a refusal', (res) => refuse(res, 409, 'BLOCKED_NO_RECIPROCITY'), ConflictError, 1],
  ['a 429', (res) => refuse(res, 429, 'RATE_LIMITED'), RateLimitError, 2],
  ['a 503', (res) => refuse(res, 503, 'SERVICE_UNAVAILABLE'), UnavailableError, 2],
  ['a reset', (res) => void res.socket?.resetAndDestroy(), ConnectionError, 2],
  ['an HTML page as a success', (res) => void res.writeHead(200).end('<html>'), PosthornError, 1],
  ['an HTML page as a 502', (res) => void res.writeHead(502).end('<html>'), ServerError, 2],
];

describe('the error of a send', () => {
  for (const [what, answer, Class, attempts] of FAULTS) {
    test(`after ${what} is a ${Class.brand} with the key that was sent and the number of attempts`, async () => {
      const { error, keys } = await errorOf(answer);
      assert.ok(error instanceof Class, error.name);
      assert.equal(error.attempts, attempts);
      assert.deepEqual(keys, Array(attempts).fill(error.idempotencyKey));
      assert.equal((await errorOf(answer, {}, 'order-7')).error.idempotencyKey, 'order-7');
    });
  }

  test('after silence is a TimeoutError with the key', async () => {
    const { error, keys } = await errorOf(() => undefined, { timeoutMs: 1_000 });
    assert.ok(error instanceof TimeoutError && error instanceof ConnectionError);
    assert.equal(error.attempts, 2);
    // The client may give an attempt up before it arrives here.
    assert.deepEqual([...new Set(keys)], [error.idempotencyKey]);
  });

  test('that its caller aborted is an AbortedError with the key, and the reason as its cause', async () => {
    const leaving = new AbortController();
    const { error, keys } = await errorOf(() => leaving.abort(new Error('enough')), {
      signal: leaving.signal,
    });
    assert.ok(error instanceof AbortedError);
    assert.deepEqual(keys, [error.idempotencyKey]);
    assert.equal((error.cause as Error).message, 'enough');
  });

  test('without a token for the next attempt still has the key', async () => {
    const server = await startHttp((res) => void res.socket?.resetAndDestroy());
    let asked = 0;
    const token = () => {
      asked += 1;
      if (asked > 1) throw new Error('the vault is sealed');
      return 'jwt';
    };
    const client = createClient({ baseUrl: server.url, token });
    await assert.rejects(client.messages.sendText({ ...TEXT, idempotencyKey: 'k' }), {
      code: 'NO_CREDENTIALS',
      idempotencyKey: 'k',
      attempts: 1,
    });
    await server.close();
  });

  test('has a null key when the call had none', async () => {
    const server = await startHttp((res) => refuse(res, 404, 'INSTANCE_NOT_FOUND'));
    const client = createClient({ baseUrl: server.url });
    await assert.rejects(client.instances.get({ instanceId: INSTANCE }), (error: unknown) => {
      assert.ok(error instanceof NotFoundError);
      assert.deepEqual([error.idempotencyKey, error.attempts, error.name], [null, 1, 'NotFoundError']);
      return true;
    });
    await server.close();
  });
});

describe('the classes of errors', () => {
  const details = { code: 'X', status: 429, message: 'x' };

  test('tell each other apart', () => {
    const error = new RateLimitError(details);
    assert.ok(error instanceof PosthornError);
    assert.ok(!((error as PosthornError) instanceof NotFoundError));
    for (const other of [null, undefined, 'x', {}, new Error('x')]) {
      assert.ok(!((other as unknown) instanceof PosthornError));
    }
  });

  test('know the errors of another copy of the package', async () => {
    const copy = (await import(
      `../../sdk/error.ts?copy=${Date.now()}`
    )) as typeof import('@posthorn/sdk/error.ts');
    assert.notEqual(copy.RateLimitError, RateLimitError);
    const error: unknown = new copy.RateLimitError(details);
    assert.ok(error instanceof RateLimitError);
    assert.ok(error instanceof PosthornError);
    assert.ok(!(error instanceof NotFoundError));
  });

  test('may be derived from', () => {
    class Mine extends RateLimitError {}
    assert.ok(new Mine(details) instanceof Mine);
    assert.ok(new Mine(details) instanceof RateLimitError);
    assert.ok(!(new RateLimitError(details) instanceof Mine));
  });
});
