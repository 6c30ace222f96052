import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { createClient, type Message, TimeoutError } from '@posthorn/sdk/index.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { json, refuse, startHttp } from './http-server.ts';

const INSTANCE = '6a2f41a3-c54c-4fce-9e0f-1d0a4e5a8a01';
const MESSAGE = '0f8fad5b-d9cb-469f-a165-70867728950e';
const input = { instanceId: INSTANCE, messageId: MESSAGE };
/** Much longer than any wait takes, so that a result that only polling finds is late. */
const timeoutMs = 60_000;

/** A service with one message, whose event stream behaves as the test says. */
async function setUp(onStream: (res: ServerResponse, nth: number) => void) {
  const message = {
    message_id: MESSAGE,
    status: 'queued',
    failed_reason: null,
    typing_until: null as string | null,
  };
  const streams: ServerResponse[] = [];
  let reads = 0;
  const server = await startHttp((res, { url }) => {
    if (url.startsWith('/v1/events/stream')) {
      streams.push(res);
      return onStream(res, streams.length);
    }
    reads += 1;
    json(res, 200, message);
  });
  const client = createClient({ baseUrl: server.url, apiKey: 'svc_test' });
  return {
    client,
    server,
    message,
    streams,
    reads: () => reads,
    streamQuery: () =>
      new URL(server.seen.find(({ url }) => url.includes('/stream'))?.url ?? '', server.url).searchParams,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function open(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write('retry: 10\n\n');
}

let told = 0;
function tell(res: ServerResponse | undefined, type: string, messageId = MESSAGE): void {
  told += 1;
  const event = { event_id: `event ${told}`, type, data: { message_ids: [messageId] } };
  res?.write(`id: ${told}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
}

describe('waiting for a message over the event stream', () => {
  test('reads the message when the stream has an event of it, and hardly ever else', async () => {
    let readsBefore = Number.POSITIVE_INFINITY;
    let openAtMs = 0;
    await using at = await setUp((res) => {
      [readsBefore, openAtMs] = [at.reads(), performance.now()];
      open(res);
    });
    const waiting = at.client.messages.waitFor(input, 'delivered', { timeoutMs });
    await waitFor(() => at.reads() > readsBefore);
    const readsAtOpen = at.reads();
    for (let n = 0; n < 20; n++) tell(at.streams[0], 'message.delivered', INSTANCE);
    at.message.status = 'delivered';
    const since = performance.now();
    tell(at.streams[0], 'message.delivered');
    assert.equal((await waiting).status, 'delivered');
    tellFigure('waitFor follows the stream', performance.now() - since, { atMost: 500 });
    // One read at its event, and one each 5 s on a slow machine. Before, it polls until the stream is open.
    const most = readsAtOpen + 1 + Math.floor((performance.now() - openAtMs) / 5_000);
    assert.ok(at.reads() <= most, `${at.reads()} reads, at most ${most}`);
    assert.deepEqual(at.streamQuery().get('instance_id'), INSTANCE);
    assert.deepEqual(
      at.streamQuery().getAll('types').join(),
      'message.delivered,message.read,message.played,*.delivery_failed',
    );
    await waitFor(async () => at.streams[0]?.destroyed, undefined, { what: 'the stream is closed' });
  });

  test('misses nothing that happens between the first read and the begin of the stream', async () => {
    // On a slow machine more than one: it polls until the stream is open.
    let readsBefore = 0;
    await using at = await setUp((res) => {
      readsBefore = at.reads();
      at.message.status = 'read';
      open(res);
    });
    assert.equal((await at.client.messages.waitFor(input, 'delivered', { timeoutMs })).status, 'read');
    assert.equal(at.reads(), readsBefore + 1);
  });

  test('misses nothing that happens while the stream is broken', async () => {
    let readsBefore = Number.POSITIVE_INFINITY;
    await using at = await setUp((res, nth) => {
      if (nth === 1) readsBefore = at.reads();
      if (nth === 2) at.message.status = 'sent';
      open(res);
    });
    const waiting = at.client.messages.waitFor(input, 'sent', { timeoutMs });
    await waitFor(() => at.reads() > readsBefore);
    at.streams[0]?.destroy();
    assert.equal((await waiting).status, 'sent');
  });

  for (const [what, onStream] of Object.entries<(res: ServerResponse) => void>({
    'is refused': (res) => refuse(res, 403, 'FORBIDDEN'),
    'has no room': (res) => refuse(res, 429, 'RATE_LIMITED', {}, { 'retry-after': '60' }),
    'is no stream': (res) => json(res, 200, {}),
    'breaks off at once': (res) => void res.destroy(),
    'never answers': () => undefined,
  }))
    test(`reads again and again where the stream ${what}`, async () => {
      await using at = await setUp(onStream);
      const waiting = at.client.messages.waitFor(input, 'delivered', { timeoutMs });
      await waitFor(() => at.reads() >= 3, 30_000);
      at.message.status = 'delivered';
      assert.equal((await waiting).status, 'delivered');
    });

  test('reports each state that it reads, and its error shows until when the message is typed', async () => {
    await using at = await setUp((res) => open(res));
    at.message.typing_until = '2026-01-31T12:00:00.000Z';
    const seen: Message[] = [];
    const onWait = (message: Message) => seen.push(message);
    const options = { timeoutMs: 300, onWait };
    await assert.rejects(at.client.messages.waitFor(input, 'sent', options), (error: unknown) => {
      assert.ok(error instanceof TimeoutError);
      assert.match(error.message, /queued, not sent, after 300 ms, .* typed until 2026-01-31T12:00:00/);
      assert.equal(error.fields.status, 'queued');
      return true;
    });
    assert.ok(seen.length > 0 && seen.every(({ typing_until }) => typing_until === at.message.typing_until));
  });

  test('ends when the caller calls it off, and leaves no stream behind', async () => {
    await using at = await setUp((res) => open(res));
    const leaving = new AbortController();
    const waiting = at.client.messages.waitFor(input, 'sent', { timeoutMs, signal: leaving.signal });
    await waitFor(() => at.streams.length === 1 && at.reads() >= 2);
    leaving.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
    await waitFor(() => at.streams[0]?.destroyed);
  });
});
