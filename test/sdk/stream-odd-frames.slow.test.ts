import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { createClient, PosthornError, type StreamedEvent } from '@posthorn/sdk/index.ts';
import fc from 'fast-check';
import { startHttp } from './http-server.ts';

const body = (id: string) => ({
  event_id: id,
  type: 'message.sent',
  created_at: '2026-01-31T12:00:00.000Z',
  company_id: 7,
  instance_id: null,
  data: { message_ids: [id] },
});
const frame = (id: string) => `id: c-${id}\nevent: message.sent\ndata: ${JSON.stringify(body(id))}\n\n`;

/** Reads streams of these texts, one a connection, up to the event `last`. */
async function read(...texts: string[]) {
  await using server = await started((res, _, index) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end(`retry: 1\n\n${texts[index] ?? frame('last')}`);
  });
  const client = createClient({ baseUrl: server.url, apiKey: 'svc_test' });
  const events: StreamedEvent[] = [];
  const resets: unknown[] = [];
  let error: unknown = null;
  try {
    for await (const event of client.events.stream({
      signal: AbortSignal.timeout(30_000),
      onReset: (info) => resets.push(info),
    })) {
      events.push(event);
      if (event.event_id === 'last') break;
    }
  } catch (fault) {
    error = fault;
  }
  return { events, resets, error, asked: server.seen.map(({ headers }) => headers['last-event-id']) };
}

async function started(answer: (res: ServerResponse, request: unknown, index: number) => void) {
  const server = await startHttp(answer);
  return { ...server, [Symbol.asyncDispose]: () => server.close() };
}

describe('odd frames of an event stream', () => {
  for (const data of ['null', '[]', '7', '"text"', 'true', '{"reason":7}']) {
    test(`a reset with the data ${data} is a reset without details`, async () => {
      const { events, resets, error } = await read(`id: y\nevent: reset\ndata: ${data}\n\n${frame('last')}`);
      assert.equal(error, null);
      assert.deepEqual(resets, [{ reason: 'reset', cursor: 'y' }]);
      assert.deepEqual(
        events.map(({ cursor }) => cursor),
        ['c-last'],
      );
    });
  }

  test('a reset that is no JSON is refused', async () => {
    const { error } = await read('id: y\nevent: reset\ndata: {"reason":\n\n');
    assert.ok(error instanceof PosthornError);
    assert.equal(error.code, 'BAD_RESPONSE');
  });

  test('an event without a cursor leaves the reader where it was', async () => {
    const { events, asked } = await read(frame('a'), frame('b').replace(/^id.*\n/, ''), frame('last'));
    assert.deepEqual(
      events.map(({ cursor }) => cursor),
      ['c-a', 'c-a', 'c-last'],
    );
    assert.deepEqual(asked, [undefined, 'c-a', 'c-a']);
  });

  test('an empty cursor does not make the reader begin anew', async () => {
    const { asked } = await read(`${frame('a')}id:\n\n`);
    assert.deepEqual(asked, [undefined, 'c-a']);
  });

  test('an event of 20 MB is read like others', async () => {
    const text = 'x'.repeat(20 * 1024 * 1024);
    const large = { ...body('large'), data: { text } };
    const { events } = await read(`id: l\ndata: ${JSON.stringify(large)}\n\n${frame('last')}`);
    assert.equal(events.length, 2);
    assert.deepEqual(events[0]?.data, { text });
  });

  for (const [what, piece] of [
    ['a line', 'x'],
    ['the data of a frame', `data: ${'x'.repeat(1_000)}\n`],
  ] as const)
    test(`${what} that does not end is refused, and is not read for ever`, async () => {
      let sent = 0;
      await using server = await started((res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write('data: ');
        const more = piece.repeat((4 * 1024 * 1024) / piece.length);
        const write = () => {
          while (!res.destroyed && sent < 1024 ** 3) {
            sent += more.length;
            if (!res.write(more)) return res.once('drain', write);
          }
        };
        write();
      });
      const client = createClient({ baseUrl: server.url, apiKey: 'svc_test' });
      const reading = async () => {
        for await (const event of client.events.stream({ onReconnect() {} })) assert.fail(event.event_id);
      };
      await assert.rejects(reading(), { code: 'BAD_RESPONSE', message: /a frame of more than 67108864/ });
      assert.ok(sent < 512 * 1024 * 1024, `${sent} bytes were sent`);
    });

  test('whatever they are, only events come out, or an error of the client', async () => {
    const odd = fc.oneof(
      fc.constantFrom('null', '[]', '7', '{', '{"event_id":"x"}', '{"event_id":null,"type":7}'),
      fc.json(),
      fc
        .record(
          { event_id: fc.jsonValue(), type: fc.jsonValue(), data: fc.jsonValue() },
          { requiredKeys: [] },
        )
        .map((value) => JSON.stringify(value)),
    );
    const oddFrame = fc
      .record({
        id: fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
        event: fc.option(fc.constantFrom('reset', 'end', 'message.sent', '__proto__'), { nil: undefined }),
        data: odd,
      })
      .map(({ id, event, data }) =>
        [
          ...(id === undefined ? [] : [`id: ${id}`]),
          ...(event === undefined ? [] : [`event: ${event}`]),
          `data: ${data}\n\n`,
        ].join('\n'),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(oddFrame, { minLength: 1, maxLength: 4 }), async (frames) => {
        const { events, error } = await read(frames.join(''));
        if (error) assert.ok(error instanceof PosthornError, String(error));
        else assert.equal(events.at(-1)?.event_id, 'last');
        for (const { event_id, type, data } of events) {
          assert.deepEqual([typeof event_id, typeof type, typeof data], ['string', 'string', 'object']);
          assert.notEqual(data, null);
        }
      }),
      { numRuns: 150 },
    );
  });
});
