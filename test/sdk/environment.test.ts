import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  createBillingClient,
  createClient,
  createSession,
  signWebhook,
  toArray,
  verifyWebhook,
} from '@posthorn/sdk/index.ts';
import { Webhook } from 'standardwebhooks';
import { type HttpServer, json, startHttp } from './http-server.ts';

const NAMES = ['POSTHORN_URL', 'POSTHORN_API_KEY', 'POSTHORN_BILLING_URL'] as const;

let server: HttpServer;
let seen: { url: string; headers: Record<string, unknown> }[];
before(async () => {
  server = await startHttp((res, { headers, url }) => {
    seen.push({ url, headers });
    json(res, 200, { status: 'ok' });
  });
});
after(() => server.close());
beforeEach(() => {
  seen = [];
});

/** Runs with these of our variables, and without the others. */
async function withVariables(
  given: Partial<Record<(typeof NAMES)[number], string>>,
  run: () => Promise<void>,
) {
  const before = NAMES.map((name) => [name, process.env[name]] as const);
  for (const name of NAMES) delete process.env[name];
  Object.assign(process.env, given);
  try {
    await run();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

describe('a client without options', () => {
  test('takes address and key from the environment', () =>
    withVariables({ POSTHORN_URL: `${server.url}/base/`, POSTHORN_API_KEY: 'svc_env' }, async () => {
      await createClient().health.health();
      assert.equal(seen[0]?.url, '/base/health');
      assert.equal(seen[0]?.headers['x-api-key'], 'svc_env');
    }));

  test('lets options come before the environment, and credentials exclude its key', () =>
    withVariables({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_env' }, async () => {
      await createClient({ apiKey: 'svc_own' }).health.health();
      await createClient({ token: 'jwt' }).health.health();
      await createClient({ apiKey: undefined }).health.health();
      const keys = seen.map(({ headers }) => [headers['x-api-key'], headers.authorization]);
      assert.deepEqual(keys, [
        ['svc_own', undefined],
        [undefined, 'Bearer jwt'],
        ['svc_env', undefined],
      ]);
    }));

  test('sends the key of the environment to no address that the program names', () =>
    withVariables({ POSTHORN_URL: 'http://127.0.0.1:1', POSTHORN_API_KEY: 'svc_env' }, async () => {
      await createClient({ baseUrl: server.url }).health.health();
      assert.equal(seen[0]?.headers['x-api-key'], undefined);
    }));

  test('takes the address of billing from a variable of its own', () =>
    withVariables(
      { POSTHORN_URL: 'http://127.0.0.1:1', POSTHORN_BILLING_URL: server.url, POSTHORN_API_KEY: 'svc_env' },
      async () => {
        await createBillingClient().health.health();
        assert.equal(seen[0]?.headers['x-api-key'], 'svc_env');
      },
    ));

  test('names the needed options and variables', () =>
    withVariables({ POSTHORN_API_KEY: 'svc_secret_of_mine' }, async () => {
      for (const options of [undefined, {}, { apiKey: 'svc_x' }, { baseUrl: undefined }]) {
        assert.throws(
          () => createClient(options),
          (error: Error) =>
            error instanceof TypeError &&
            /createClient\(\{ baseUrl: .*POSTHORN_URL and POSTHORN_API_KEY/.test(error.message) &&
            !error.message.includes('of_mine'),
        );
      }
      assert.throws(() => createBillingClient(), /createBillingClient needs .*POSTHORN_BILLING_URL/);
    }));

  test('names them, too, where the environment may not be read', () => {
    const { process } = globalThis;
    Object.defineProperty(globalThis, 'process', {
      configurable: true,
      value: new Proxy({}, { get: () => assert.fail('refused, as Deno does') }),
    });
    try {
      assert.throws(() => createClient(), TypeError);
    } finally {
      Object.defineProperty(globalThis, 'process', { configurable: true, writable: true, value: process });
    }
  });
});

describe('default headers', () => {
  test('go with every request, behind what the client sets itself', async () => {
    const headers = { 'X-Gateway': 'g', accept: 'text/html', 'x-api-key': 'svc_wrong', 'X-None': undefined };
    const client = createClient({ baseUrl: server.url, apiKey: 'svc_right', headers });
    await client.health.health();
    await client.request({ path: '/health', headers: { 'X-Gateway': 'own' } });
    const got = seen.map((each) => [
      each.headers['x-gateway'],
      each.headers['x-api-key'],
      each.headers.accept,
    ]);
    assert.deepEqual(got, [
      ['g', 'svc_right', 'application/json'],
      ['own', 'svc_right', 'application/json'],
    ]);
    assert.equal('x-none' in (seen[0]?.headers ?? {}), false);
  });

  test('go with a login as well', async () => {
    const session = createSession({ baseUrl: server.url, headers: { 'X-Gateway': 'g' } });
    await session.login({ email: 'a@b.test', password: 'x' }).catch(() => undefined);
    assert.equal(seen[0]?.headers['x-gateway'], 'g');
  });

  test('are refused an Idempotency-Key, which would make all sends one', () => {
    const headers = { 'idempotency-KEY': 'k' };
    assert.throws(() => createClient({ baseUrl: server.url, headers }), /each send has its own/);
  });

  test('with a line break are refused, and the error shows no value', async () => {
    const client = createClient({ baseUrl: server.url, headers: { 'X-A': 'se\r\ncret' } });
    await assert.rejects(
      Promise.resolve(client.health.health()),
      (error: Error) => !error.message.includes('cret'),
    );
    assert.equal(seen.length, 0);
  });
});

describe('toArray', () => {
  const list = async ({ query }: { query?: { page?: number } } = {}) => {
    const page = query?.page ?? 1;
    return { data: [{ id: page * 2 - 1 }, { id: page * 2 }], page, limit: 2, total: 6 };
  };

  test('gives the items of all pages, or as many as are wanted, and reads no page more', async () => {
    assert.deepEqual(
      (await toArray(list)).map(({ id }) => id),
      [1, 2, 3, 4, 5, 6],
    );
    const pages: number[] = [];
    const counted: typeof list = (input) => {
      pages.push(input?.query?.page ?? 1);
      return list(input);
    };
    assert.deepEqual(
      (await toArray(counted, {}, { max: 4 })).map(({ id }) => id),
      [1, 2, 3, 4],
    );
    assert.deepEqual(pages, [1, 2]);
    assert.deepEqual(await toArray(counted, {}, { max: 0 }), []);
    await assert.rejects(toArray(list, {}, { max: Number.NaN }), TypeError);
  });
});

describe('signWebhook', () => {
  const secret = `whsec_${Buffer.from('a secret of some length').toString('base64')}`;
  const body = JSON.stringify({ event_id: 'e', type: 'message.sent', text: 'olá 👋' });

  test('makes signatures that verifyWebhook and the library of Standard Webhooks accept', async () => {
    const headers = await signWebhook(body, secret, { id: 'e' });
    assert.equal(headers['webhook-id'], 'e');
    assert.equal((await verifyWebhook(body, headers, secret)).event_id, 'e');
    assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body));
    await assert.rejects(verifyWebhook(`${body} `, headers, secret), { code: 'SIGNATURE_MISMATCH' });
  });

  test('signs bytes, with each of several secrets, at another time, under an id of its own', async () => {
    const other = `whsec_${Buffer.from('another secret').toString('base64')}`;
    const bytes = new TextEncoder().encode(body);
    const old = await signWebhook(bytes, [other, secret], { nowMs: Date.now() - 600_000 });
    await assert.rejects(verifyWebhook(body, old, secret), { code: 'TIMESTAMP_OUT_OF_TOLERANCE' });
    for (const each of [secret, other])
      assert.ok(await verifyWebhook(body, old, each, { toleranceSeconds: 900 }));
    assert.notEqual(old['webhook-id'], (await signWebhook(bytes, secret))['webhook-id']);
  });

  test('refuses an invalid body or secret', async () => {
    await assert.rejects(signWebhook({ event: 1 } as never, secret), TypeError);
    for (const wrong of ['whsec_', 'whsec_%%', []] as const)
      await assert.rejects(signWebhook(body, wrong as never), TypeError);
  });
});
