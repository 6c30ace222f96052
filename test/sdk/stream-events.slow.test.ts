import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { createClient, type StreamedEvent, type StreamOptions } from '@posthorn/sdk/index.ts';
import { waitFor } from '../support/process.ts';
import { type Answer, json, refuse, startHttp } from './http-server.ts';

function eventAt(cursor: string, id: string = randomUUID()) {
  return {
    cursor,
    body: {
      event_id: id,
      type: 'message.sent',
      created_at: '2026-01-31T12:00:00.000Z',
      company_id: 7,
      instance_id: null,
      data: { message_ids: [cursor] },
    },
  };
}

function open(res: ServerResponse): void {
  // Clients are told to reconnect soon, so that the tests are quick.
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write('retry: 10\n\n');
}

function write(res: ServerResponse, ...events: ReturnType<typeof eventAt>[]): void {
  for (const { cursor, body } of events) {
    res.write(`id: ${cursor}\nevent: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`);
  }
}

async function setUp(answer: Answer) {
  const server = await startHttp(answer);
  const client = createClient({ baseUrl: server.url, apiKey: 'svc_test' });
  return { server, client, [Symbol.asyncDispose]: () => server.close() };
}

/** The first `count` events of the stream. */
async function take(
  client: ReturnType<typeof createClient>,
  count: number,
  options: StreamOptions = {},
): Promise<StreamedEvent[]> {
  const events: StreamedEvent[] = [];
  for await (const event of client.events.stream({ signal: AbortSignal.timeout(30_000), ...options })) {
    events.push(event);
    if (events.length === count) break;
  }
  return events;
}

const cursors = (events: StreamedEvent[]) => events.map(({ cursor }) => cursor);

describe('the event stream', () => {
  test('gives events as they come, with their cursors, and sends the given filters', async () => {
    await using at = await setUp((res) => {
      open(res);
      write(res, eventAt('a'), eventAt('b'));
    });
    const events = await take(at.client, 2, { instanceId: 'i-1', types: ['message.*', '*.received'] });
    assert.deepEqual(cursors(events), ['a', 'b']);
    const event = events[0] as StreamedEvent;
    assert.ok(event.type === 'message.sent' && event.data.message_ids[0] === 'a');
    const { url, headers } = at.server.seen[0] ?? assert.fail('no request');
    const query = new URL(url, 'http://x').searchParams;
    assert.equal(query.get('instance_id'), 'i-1');
    assert.deepEqual(query.getAll('types'), ['message.*', '*.received']);
    assert.equal(headers['x-api-key'], 'svc_test');
    assert.equal(headers['last-event-id'], undefined);
  });

  test('begins after the event it is given', async () => {
    await using at = await setUp((res) => {
      open(res);
      write(res, eventAt('b'));
    });
    await take(at.client, 1, { lastEventId: 'a' });
    assert.equal(at.server.seen[0]?.headers['last-event-id'], 'a');
  });

  const endings: [string, (res: ServerResponse) => void][] = [
    ['is cut', (res) => void setTimeout(() => res.socket?.resetAndDestroy(), 20)],
    ['ends', (res) => void res.end()],
    [
      'is ended with a reason',
      (res) => void res.end('id: b\nevent: end\ndata: {"reason":"shutdown","cursor":"b"}\n\n'),
    ],
    [
      'breaks in the middle of an event',
      (res) => {
        res.write('id: c\nevent: message.sent\ndata: {"event_id":"half');
        setTimeout(() => res.socket?.destroy(), 20);
      },
    ],
  ];
  for (const [what, end] of endings) {
    test(`comes back after the last event when the connection ${what}`, async () => {
      const [a, b, c] = [eventAt('a'), eventAt('b'), eventAt('c')];
      await using at = await setUp((res, _, index) => {
        open(res);
        if (index === 0) {
          write(res, a, b);
          end(res);
        } else write(res, c);
      });
      assert.deepEqual(cursors(await take(at.client, 3)), ['a', 'b', 'c']);
      assert.equal(at.server.seen[1]?.headers['last-event-id'], 'b');
    });
  }

  test('resumes after a heartbeat too, which moves the cursor without an event', async () => {
    await using at = await setUp((res, _, index) => {
      open(res);
      if (index === 0) {
        write(res, eventAt('a'));
        res.end(': \nid: f\n\n');
      } else write(res, eventAt('g'));
    });
    assert.deepEqual(cursors(await take(at.client, 2)), ['a', 'g']);
    assert.equal(at.server.seen[1]?.headers['last-event-id'], 'f');
  });

  test('never gives an event twice, whatever the server repeats', async () => {
    const [a, b, c] = [eventAt('a'), eventAt('b'), eventAt('c')];
    await using at = await setUp((res, _, index) => {
      open(res);
      if (index === 0) {
        write(res, a, a, b);
        res.end();
      } else write(res, a, b, c);
    });
    assert.deepEqual(cursors(await take(at.client, 3)), ['a', 'b', 'c']);
  });

  test('reports an expired cursor, and continues from where the server does', async () => {
    await using at = await setUp((res, _, index) => {
      open(res);
      if (index > 0) return write(res, eventAt('z'));
      res.end('id: y\nevent: reset\ndata: {"reason":"cursor_expired","cursor":"y"}\n\n');
    });
    const resets: unknown[] = [];
    const events = await take(at.client, 1, { lastEventId: 'old', onReset: (info) => resets.push(info) });
    assert.deepEqual(resets, [{ reason: 'cursor_expired', cursor: 'y' }]);
    assert.deepEqual(cursors(events), ['z']);
    assert.equal(at.server.seen[1]?.headers['last-event-id'], 'y');
  });

  test('reports a break before it had a place to come back to', async () => {
    await using at = await setUp((res, _, index) => {
      open(res);
      if (index === 0) res.end();
      else write(res, eventAt('q'));
    });
    const resets: unknown[] = [];
    await take(at.client, 1, { onReset: (info) => resets.push(info) });
    assert.deepEqual(resets, [{ reason: 'no_cursor', cursor: null }]);
  });

  test('takes a silent connection for a dead one', async () => {
    await using at = await setUp((res, _, index) => {
      open(res);
      write(res, eventAt(`e${index}`));
    });
    const faults: (string | undefined)[] = [];
    const events = await take(at.client, 2, {
      silenceMs: 6_000,
      onReconnect: ({ error }) => faults.push(error?.code),
    });
    assert.deepEqual(cursors(events), ['e0', 'e1']);
    assert.deepEqual(faults, ['TIMEOUT']);
  });

  test('does not take a slow reader for a silent server', async () => {
    await using at = await setUp((res) => {
      open(res);
      write(res, eventAt('a'));
      setTimeout(() => write(res, eventAt('b')), 6_000);
    });
    const seen: string[] = [];
    for await (const event of at.client.events.stream({ silenceMs: 5_000 })) {
      seen.push(event.cursor);
      if (seen.length === 2) break;
      await new Promise((resolve) => setTimeout(resolve, 7_000));
    }
    assert.equal(at.server.seen.length, 1);
  });

  test('keeps trying through an outage once it has stood', async () => {
    await using at = await setUp((res, _, index) => {
      if (index > 0 && index < 4) return void res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>');
      open(res);
      write(res, eventAt(`e${index}`));
      if (index === 0) res.end();
    });
    assert.deepEqual(cursors(await take(at.client, 2)), ['e0', 'e4']);
  });

  test('stays away when it is asked to for longer than a timer can hold', async () => {
    await using at = await setUp((res, _, index) => {
      if (index > 0) return refuse(res, 503, 'SERVICE_UNAVAILABLE', {}, { 'retry-after': '9999999' });
      open(res);
      res.end();
    });
    const leaving = new AbortController();
    const onReconnect = () => {
      // The requested wait begins: it comes after the second request.
      if (at.server.seen.length === 2) setTimeout(() => leaving.abort(), 500);
    };
    assert.deepEqual(await take(at.client, 1, { signal: leaving.signal, onReconnect }), []);
    assert.equal(at.server.seen.length, 2);
  });

  for (const [status, code] of [
    [401, 'TOKEN_INVALID'],
    [403, 'COMPANY_SUSPENDED'],
    [404, 'INSTANCE_NOT_FOUND'],
    [400, 'BAD_REQUEST'],
  ] as const) {
    test(`ends with ${code} when the service refuses it, at the start and later`, async () => {
      await using at = await setUp((res) => refuse(res, status, code));
      await assert.rejects(take(at.client, 1), { code, status });
      assert.equal(at.server.seen.length, 1);
      await using later = await setUp((res, _, index) => {
        if (index > 0) return refuse(res, status, code);
        open(res);
        res.end();
      });
      await assert.rejects(take(later.client, 1), { code });
    });
  }

  test('ends with NETWORK when nobody was ever reached', async () => {
    const server = await startHttp(() => undefined);
    await server.close();
    await assert.rejects(take(createClient({ baseUrl: server.url }), 1), { code: 'NETWORK' });
  });

  test('ends with BAD_RESPONSE when something else answers', async () => {
    await using at = await setUp((res) => json(res, 200, { ok: true }));
    await assert.rejects(take(at.client, 1), { code: 'BAD_RESPONSE' });
  });

  test('ends quietly when it is called off, and lets go of the connection', async () => {
    await using at = await setUp((res) => {
      open(res);
      write(res, eventAt('a'));
    });
    const controller = new AbortController();
    const seen: string[] = [];
    for await (const event of at.client.events.stream({ signal: controller.signal })) {
      seen.push(event.cursor);
      setTimeout(() => controller.abort(), 20);
    }
    assert.deepEqual(seen, ['a']);
    await waitFor(async () => (await at.server.connections()) === 0);
  });

  test('gives nothing more when it is called off, however much has come already', async () => {
    await using at = await setUp((res) => {
      open(res);
      write(res, ...['1', '2', '3'].map((cursor) => eventAt(cursor)));
    });
    const controller = new AbortController();
    const seen: StreamedEvent[] = [];
    for await (const event of at.client.events.stream({ signal: controller.signal })) {
      seen.push(event);
      controller.abort();
    }
    assert.deepEqual(cursors(seen), ['1']);
  });

  test('lets go of the connection when the loop is left', async () => {
    await using at = await setUp((res) => {
      open(res);
      write(res, eventAt('a'));
    });
    await take(at.client, 1);
    await waitFor(async () => (await at.server.connections()) === 0);
  });
});
