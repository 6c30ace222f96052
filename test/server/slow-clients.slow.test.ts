import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { takesBody } from '@posthorn/contract/route-meta.ts';
import { limitTransfers } from '@posthorn/core/platform/http/transfer-limits.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import { startTestBilling, type TestBilling } from '../billing/billing-harness.ts';
import { listen } from '../support/listen.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { headOf, openSlowClient } from '../support/slow-client.ts';

/** Short enough for a test, and far from the time of any of these requests. */
const TRANSFERS = { graceMs: 1_000, minBytesPerS: 16 * 1024 };
/** A busy machine checks late, and never early. */
const CUT_WITHIN_MS = 30_000;

let messaging: TestMessaging;
let billing: TestBilling;
let company: SeededCompany;
let instanceId: string;
before(async () => {
  messaging = await startTestMessaging({ TRANSFER_GRACE_SECONDS: '1' });
  billing = await startTestBilling({ transfers: TRANSFERS });
  company = await seedCompany(messaging.parts.db);
  instanceId = await seedInstance(messaging.parts.db, company.companyId);
});
after(async () => {
  await messaging.close();
  await billing.close();
});

/** Sends half a body and nothing more; returns the answer when the server has closed. */
async function halfSend(
  url: string,
  method: string,
  target: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: Record<string, string>; ms: number }> {
  const client = await openSlowClient(url);
  client.socket.write(
    headOf(method, target, { host: new URL(url).host, 'content-length': 1_000, ...headers }),
  );
  client.socket.write('{"half":');
  const ms = await client.closed;
  const text = client.text();
  const json = text.slice(text.indexOf('\r\n\r\n') + 4);
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0),
    body: json.startsWith('{') ? JSON.parse(json) : {},
    ms,
  };
}

describe('a body that does not arrive', () => {
  const JSON_TYPE = { 'content-type': 'application/json' };

  for (const [service, contract] of [
    ['messaging', messagingContract],
    ['billing', billingContract],
  ] as const)
    test(`ends its connection on every route of ${service}, answered 408 where nothing was answered before`, async () => {
      const { url } = service === 'messaging' ? messaging : billing;
      const routes = listRoutes(contract).filter(({ route }) => takesBody(route));
      const seen = await Promise.all(
        routes.map(async ({ name, route }) => {
          const target = route.path.replace(':instanceId', instanceId).replaceAll(/:\w+/g, '1');
          // Also for a request without credentials.
          return { name, ...(await halfSend(url, route.method, target, JSON_TYPE)) };
        }),
      );
      for (const { name, status, body, ms } of seen) {
        // 404: a webhook for an instance that is no official number.
        assert.ok([401, 403, 404, 408].includes(status), `${name}: ${status}`);
        if (status === 408) {
          assert.deepEqual(Object.keys(body).sort(), ['error', 'error_code', 'message', 'trace_id'], name);
          assert.equal(body.error_code, 'REQUEST_TIMEOUT', name);
        }
        assert.ok(ms < CUT_WITHIN_MS, `${name}: after ${Math.round(ms)} ms`);
      }
      if (service === 'messaging') assert.ok(seen.some(({ status }) => status === 408));
    });

  for (const [what, type] of [
    ['JSON', 'application/json'],
    ['a form', 'multipart/form-data; boundary=b'],
  ])
    test(`is ended with ${what} where media are accepted, and its memory is given back`, async () => {
      const headers = { 'content-type': type!, 'x-api-key': company.apiKey, 'idempotency-key': 'x' };
      for (const target of [
        `/v1/instances/${instanceId}/media`,
        `/v1/instances/${instanceId}/messages/image`,
      ]) {
        const { status, body } = await halfSend(messaging.url, 'POST', target, headers);
        assert.deepEqual([status, body.error_code], [408, 'REQUEST_TIMEOUT'], target);
      }
      const { budget, room } = messaging.media;
      await waitFor(() => budget.used() === 0 && room.used() === 0);
    });

  test('is ended in the control API and the media of the sandbox', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'posthorn-slow-'));
    const sandbox = await createSandboxServer({ dataDir, transfers: TRANSFERS });
    try {
      for (const target of ['/v1/phones', '/cdn/']) {
        const { status, ms } = await halfSend(sandbox.controlUrl, 'POST', target, JSON_TYPE);
        assert.ok([401, 404, 408].includes(status), `${target}: ${status}`);
        assert.ok(ms < CUT_WITHIN_MS);
      }
    } finally {
      await sandbox.close();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
    }
  });

  test('nor a head that does not', async () => {
    for (const { url } of [messaging, billing]) {
      const client = await openSlowClient(url);
      client.socket.write('POST /v1/auth/login HTTP/1.1\r\nhost: x\r\n');
      assert.ok((await client.closed) < CUT_WITHIN_MS);
      assert.match(client.text(), /^HTTP\/1\.1 408 [\s\S]*REQUEST_TIMEOUT/);
    }
  });
});

describe('the least rate', () => {
  /** A server that answers with `answer` once it has read the body, with the limits of this file. */
  async function serve(answer: (bytes: number) => Buffer, pauseMs = 0) {
    const server = createServer(async (request, response) => {
      let bytes = 0;
      await delay(pauseMs);
      try {
        for await (const chunk of request) bytes += (chunk as Buffer).length;
      } catch {
        return;
      }
      response.end(answer(bytes));
    });
    limitTransfers(server, { ...TRANSFERS, timeoutAnswer: (traceId) => ({ trace_id: traceId }) });
    const port = await listen(server);
    const firstClosed = new Promise<'closed'>((resolve) =>
      server.once('connection', (socket) => socket.once('close', () => resolve('closed'))),
    );
    return {
      firstClosed,
      url: `http://127.0.0.1:${port}`,
      close: () => {
        server.closeAllConnections();
        server.close();
      },
    };
  }

  test('a client that drips is cut, one that is slow and steady is served', async () => {
    const server = await serve((bytes) => Buffer.from(String(bytes)));
    try {
      const drip = await openSlowClient(server.url);
      drip.socket.write(headOf('POST', '/', { 'content-length': 100_000 }));
      const dripping = setInterval(() => drip.socket.write('x'), 100);
      assert.ok((await drip.closed) < CUT_WITHIN_MS);
      clearInterval(dripping);
      assert.match(drip.text(), /^HTTP\/1\.1 408/);

      const steady = await openSlowClient(server.url);
      steady.socket.write(headOf('POST', '/', { 'content-length': 300_000, connection: 'close' }));
      // Three times the minimum rate, for much longer than the grace period.
      for (let sent = 0; sent < 300_000; sent += 10_000) {
        steady.socket.write(Buffer.alloc(10_000));
        await delay(100);
      }
      await steady.closed;
      assert.match(steady.text(), /^HTTP\/1\.1 200 [\s\S]*300000/);
    } finally {
      server.close();
    }
  });

  test('time that the server takes is not the client’s', async () => {
    const server = await serve((bytes) => Buffer.from(String(bytes)), 3 * TRANSFERS.graceMs);
    try {
      const answer = await fetch(server.url, { method: 'POST', body: Buffer.alloc(1_000_000) });
      assert.equal(await answer.text(), '1000000');
    } finally {
      server.close();
    }
  });

  test('a client that does not read its answer is cut at any size, one that reads slowly is not', async () => {
    const answer = Buffer.alloc(20 * 1024 * 1024);
    const server = await serve(() => answer);
    try {
      const deaf = await openSlowClient(server.url);
      deaf.socket.pause();
      deaf.socket.write(headOf('GET', '/', {}));
      // At the minimum rate 20 MB would have 20 minutes: it is closed because nothing moves.
      const closed = await Promise.race([server.firstClosed, delay(CUT_WITHIN_MS, 'open', { ref: false })]);
      assert.equal(closed, 'closed');
      deaf.socket.destroy();

      const slow = await fetch(server.url);
      let read = 0;
      for await (const chunk of slow.body!) {
        read += chunk.length;
        if (read < 2_000_000) await delay(10);
      }
      assert.equal(read, answer.length);
    } finally {
      server.close();
    }
  });
});
