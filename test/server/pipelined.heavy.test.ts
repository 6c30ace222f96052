import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { inTurns, PIPELINED_MAX } from '@posthorn/server/http/in-turns.ts';
import { startTestBilling, type TestBilling } from '../billing/billing-harness.ts';
import { tellFigure } from '../support/figures.ts';
import { listen } from '../support/listen.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { assertUnhurt, PROBE_LIMIT_MS, probeWhile } from '../support/probe.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { headOf, openSlowClient } from '../support/slow-client.ts';

const CONNECTIONS = 10;
const REQUESTS = 3_000;

let messaging: TestMessaging;
let billing: TestBilling;
let company: SeededCompany;
let throttled: SeededCompany;
before(async () => {
  messaging = await startTestMessaging({ PUBLIC_RATE_PER_MINUTE: '5' });
  billing = await startTestBilling();
  company = await seedCompany(messaging.parts.db);
  throttled = await seedCompany(messaging.parts.db, { requestsPerMinute: 1 });
  for (let i = 0; i < 20; i += 1) await messaging.call('GET', '/v1/events?limit=1', { key: company.apiKey });
});
after(async () => {
  await messaging.close();
  await billing.close();
});

interface PipelinedAnswer {
  status: number;
  head: string;
  body: string;
}

/** The answers on a connection, in order of arrival. */
function answersIn(text: string): PipelinedAnswer[] {
  const answers: PipelinedAnswer[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at) + 4;
    const head = text.slice(at, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (end < 4 || text.length < end + length) break;
    answers.push({ status: Number(head.slice(9, 12)), head, body: text.slice(end, end + length) });
    at = end + length;
  }
  return answers;
}

const isLast = ({ head }: PipelinedAnswer) => /^connection: close/im.test(head);

/** Sends everything at once, and returns the answers until the server closed the connection. */
async function pipeline(url: string, requests: string): Promise<PipelinedAnswer[]> {
  const client = await openSlowClient(url);
  client.socket.write(requests);
  await client.closed;
  return answersIn(client.text());
}

describe('thousands of requests that are pipelined on each of ten connections', () => {
  const KINDS: Record<string, { statuses: number[]; most: number; head: () => string; onBilling?: boolean }> =
    {
      'no credential': { statuses: [401], most: 2, head: () => headOf('GET', '/v1/instances', {}) },
      'no credential, to billing': {
        statuses: [401],
        most: 2,
        head: () => headOf('GET', '/v1/billing/cards', {}),
        onBilling: true,
      },
      'a key that nobody has': {
        statuses: [401, 429],
        most: 2,
        head: () => headOf('GET', '/v1/instances', { 'x-api-key': `svc_${'0'.repeat(64)}` }),
      },
      'a route without a credential, above its limit': {
        statuses: [200, 429],
        // The requests within the limit of the address, and the refusal after them.
        most: 6,
        head: () => headOf('GET', '/openapi.json', {}),
      },
      'a company above its own limit': {
        statuses: [200, 429],
        most: 3,
        head: () => headOf('GET', '/v1/instances', { 'x-api-key': throttled.apiKey }),
      },
      'a path that is none': {
        statuses: [404],
        most: PIPELINED_MAX + 1,
        head: () => headOf('GET', '/v1/nothing', {}),
      },
      'a preflight': {
        statuses: [204],
        most: PIPELINED_MAX + 1,
        head: () => headOf('OPTIONS', '/v1/instances', {}),
      },
    };
  for (const [kind, { statuses, most, head, onBilling }] of Object.entries(KINDS))
    test(`${kind}: the connections are closed, and nobody else waits`, async () => {
      const target = { url: `${messaging.url}/v1/events?limit=1`, headers: { 'x-api-key': company.apiKey } };
      const requests = head().repeat(REQUESTS);
      const { result, probed } = await probeWhile(target, () =>
        Promise.all(
          Array.from({ length: CONNECTIONS }, () =>
            pipeline(onBilling ? billing.url : messaging.url, requests),
          ),
        ),
      );
      for (const answers of result) {
        assert.ok(answers.length <= most, `${answers.length} answers on one connection`);
        for (const { status } of answers) assert.ok(statuses.includes(status), `${status}`);
      }
      assertUnhurt(probed, kind);
      tellFigure(`${kind}: slowest answer to another company`, probed.slowestMs, { atMost: PROBE_LIMIT_MS });
    });
});

describe('a few pipelined requests', () => {
  const key = () => ({ 'x-api-key': company.apiKey });
  const post = (name: string) => {
    const body = JSON.stringify({ name });
    const headers = {
      ...key(),
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    return headOf('POST', '/v1/tokens', headers) + body;
  };

  test('are answered in their order, each after the one before, and the connection is kept', async () => {
    const client = await openSlowClient(messaging.url);
    const names = Array.from({ length: 20 }, (_, i) => `pipelined ${i}`);
    client.socket.write(names.map(post).join(headOf('GET', '/v1/tokens?limit=1', key())));
    await waitFor(() => answersIn(client.text()).length === 39);
    const answers = answersIn(client.text());
    assert.ok(!answers.some(isLast));
    for (const [i, name] of names.entries()) {
      assert.equal(answers[2 * i]!.status, 201, answers[2 * i]!.body);
      assert.equal(JSON.parse(answers[2 * i]!.body).name, name);
    }
    const { rows } = await messaging.parts.db.query<{ name: string }>(
      `SELECT name FROM api_tokens WHERE name LIKE 'pipelined %' ORDER BY id`,
    );
    assert.deepEqual(
      rows.map((row) => row.name),
      names,
    );
    for (let i = 40; i < 43; i += 1) {
      client.socket.write(headOf('GET', '/v1/instances', key()));
      await waitFor(() => answersIn(client.text()).length === i);
    }
    client.socket.destroy();
  });

  test('in front of a refusal are answered; those behind it are not served', async () => {
    const answers = await pipeline(
      messaging.url,
      post('in front') + headOf('GET', '/v1/instances', {}) + post('behind') + post('behind'),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 401],
    );
    assert.deepEqual(answers.map(isLast), [false, true]);
    const { rows } = await messaging.parts.db.query(`SELECT id FROM api_tokens WHERE name = 'behind'`);
    assert.equal(rows.length, 0);
  });

  test('that end with a refusal leave the connection open', async () => {
    const client = await openSlowClient(messaging.url);
    client.socket.write(headOf('GET', '/v1/instances', key()) + headOf('GET', '/v1/instances', {}));
    await waitFor(() => answersIn(client.text()).length === 2);
    client.socket.write(headOf('GET', '/v1/instances', key()));
    await waitFor(() => answersIn(client.text()).length === 3);
    assert.deepEqual(
      answersIn(client.text()).map(({ status }) => status),
      [200, 401, 200],
    );
    client.socket.destroy();
  });

  test('beyond the limit of unanswered ones are dropped, and the last answer says so', async () => {
    const sent = PIPELINED_MAX + 50;
    const answers = await pipeline(messaging.url, headOf('GET', '/v1/instances', key()).repeat(sent));
    assert.equal(answers.length, PIPELINED_MAX + 1);
    assert.ok(answers.every(({ status }) => status === 200));
    assert.deepEqual(
      answers.map(isLast),
      answers.map((_, i) => i === PIPELINED_MAX),
    );
  });
});

describe('behind a request that is not answered yet', () => {
  const handshake = (headers: Record<string, string>) =>
    headOf('GET', '/v1/events/ws', {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': 13,
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    });

  test('a WebSocket handshake waits for its turn, and is answered as a request without one', async () => {
    const client = await openSlowClient(messaging.url);
    const key = { 'x-api-key': company.apiKey };
    client.socket.write(headOf('GET', '/v1/instances', key) + handshake(key));
    await waitFor(() => answersIn(client.text()).length === 2);
    const [first, second] = answersIn(client.text());
    assert.deepEqual([first!.status, second!.status], [200, 400]);
    assert.match(second!.body, /WebSocket handshake/);
    client.socket.write(handshake(key));
    await waitFor(() => client.text().includes('HTTP/1.1 101'));
    client.socket.destroy();
  });

  test('a handshake of a stranger ends no process', async () => {
    for (let i = 0; i < 5; i += 1) {
      const answers = await pipeline(messaging.url, headOf('GET', '/v1/instances', {}) + handshake({}));
      assert.ok(answers.every(({ status }) => status === 401));
    }
    assert.equal((await messaging.call('GET', '/v1/instances', { key: company.apiKey })).status, 200);
  });

  for (const [kind, flood] of Object.entries({
    'without a body': headOf('GET', '/v1/instances', {}),
    'with a body': `${headOf('POST', '/v1/instances', { 'content-length': 1 })}x`,
  }))
    test(`requests ${kind} are not read without end`, async () => {
      let parsed = 0;
      // The first answer has begun and does not end, like a stream of events.
      const serve = inTurns((_, response) => void response.write('.'));
      const server = createServer((request, response) => {
        parsed += 1;
        serve(request, response);
      });
      const client = await openSlowClient(`http://127.0.0.1:${await listen(server)}`);
      client.socket.write(headOf('GET', '/', {}));
      await waitFor(() => parsed === 1);
      client.socket.write(flood.repeat(200_000));
      let before = 0;
      await waitFor(() => {
        const stands = parsed > PIPELINED_MAX && parsed === before;
        before = parsed;
        return stands;
      });
      assert.ok(parsed < 10_000, `${parsed} requests were parsed`);
      client.socket.destroy();
      server.closeAllConnections();
      server.close();
    });
});
