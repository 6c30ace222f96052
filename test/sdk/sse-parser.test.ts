import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSseParser, type SseFrame } from '@posthorn/sdk/sse-parser.ts';
import fc from 'fast-check';

function parse(pieces: Uint8Array[]): SseFrame[] {
  const parser = createSseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}
const bytes = (text: string) => new TextEncoder().encode(text);

describe('server-sent events', () => {
  test('are read the same for any cuts and line ends', () => {
    const word = fc.stringMatching(/^[a-zäß漢🎺 :{}"]{0,12}$/u);
    const frame = fc.record({
      id: fc.stringMatching(/^[a-z0-9-]{1,8}$/),
      lines: fc.array(word, { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(
        fc.array(frame, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(), { maxLength: 12 }),
        (frames, end, cuts) => {
          const text = frames
            .map(({ id, lines }) =>
              [`id: ${id}`, 'event: x', ...lines.map((at) => `data: ${at}`), '', ''].join(end),
            )
            .join('');
          const whole = bytes(text);
          const places = [
            0,
            ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b),
            whole.length,
          ];
          const pieces = places.slice(1).map((to, at) => whole.subarray(places[at], to));
          assert.deepEqual(
            parse(pieces),
            frames.map(({ id, lines }) => ({ event: 'x', data: lines.join('\n'), id })),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  test('drop comments and a byte order mark, and keep the last id', () => {
    const frames = parse([bytes('\uFEFF: hello\n\nid: 1\ndata: a\n\ndata: b\n\n')]);
    assert.deepEqual(frames, [
      { event: 'message', data: 'a', id: '1' },
      { event: 'message', data: 'b', id: '1' },
    ]);
  });

  test('give the time to wait before coming back', () => {
    const parser = createSseParser();
    assert.equal(parser.retryMs(), null);
    parser.push(bytes('retry: 1500\n\nretry: soon\n\n'));
    assert.equal(parser.retryMs(), 1500);
  });

  test('do not deliver an event that its end never came for', () => {
    assert.deepEqual(parse([bytes('id: 1\ndata: a\n')]), []);
  });
});
