import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { drawQr } from '@posthorn/cli/qr/draw.ts';
import { filterRows, firstShown, fitColumns, wrapLines } from '@posthorn/cli/views/layout.ts';
import fc from 'fast-check';
import { readQrPixels } from '../support/read-qr.ts';

const COLUMNS = [
  { title: 'A', width: 10, dispensable: 0 },
  { title: 'B', width: 20, dispensable: 2 },
  { title: 'C', width: 10, dispensable: 1, isGrowing: true },
];

describe('the layout of a table', () => {
  test('shows every column where there is room, and one of them takes the rest', () => {
    assert.deepEqual(fitColumns(COLUMNS, 60), [10, 20, 26]);
  });

  test('drops dispensable columns first, and always keeps one column', () => {
    assert.deepEqual(fitColumns(COLUMNS, 30), [10, 0, 18]);
    assert.deepEqual(fitColumns(COLUMNS, 15), [10, 0, 0]);
    assert.deepEqual(fitColumns(COLUMNS, 5), [5, 0, 0]);
  });

  test('always shows the selected row', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.nat(200), fc.integer({ min: 1, max: 50 }), (count, chosen, height) => {
        const selected = Math.min(chosen, Math.max(0, count - 1));
        const first = firstShown(count, selected, height);
        assert.ok(first >= 0 && first <= selected && selected < first + height);
      }),
    );
  });

  test('filters by rows that hold each word of the filter', () => {
    const rows = [{ cells: ['message.sent', 'ok'] }, { cells: ['message.read', 'Failed'] }];
    assert.deepEqual(filterRows(rows, 'fail MESSAGE'), [rows[1]]);
    assert.deepEqual(filterRows(rows, '  '), rows);
  });

  test('wraps long lines and loses nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, width) => {
        const line = text.replaceAll('\n', '');
        const pieces = wrapLines(line, width);
        assert.equal(pieces.join(''), line);
        assert.ok(pieces.every((piece) => [...piece].length <= width));
      }),
    );
  });
});

describe('a drawn QR code', () => {
  test('can be read by a phone', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 300 }), (text) => {
        assert.equal(readDrawn(drawQr(text, 'dark'), 'dark'), text);
        assert.equal(readDrawn(drawQr(text, 'light'), 'light'), text);
      }),
      { numRuns: 20 },
    );
  });

  /** As a phone sees it: the upper and the lower half of each block, on paper or on a dark screen. */
  function readDrawn(lines: string[], ink: 'dark' | 'light'): string {
    const scale = 4;
    const width = lines[0]!.length;
    // The last row of blocks has no lower half.
    const height = lines.length * 2 - 1;
    const pixels = new Uint8ClampedArray(width * height * scale * scale * 4);
    for (let at = 0; at < pixels.length; at += 4) {
      const [x, y] = [(at / 4) % (width * scale), Math.floor(at / 4 / (width * scale))];
      const row = Math.floor(y / scale);
      const block = lines[Math.floor(row / 2)]![Math.floor(x / scale)]!;
      const isInked = (row % 2 === 0 ? '█▀' : '█▄').includes(block);
      pixels.fill(isInked === (ink === 'dark') ? 0 : 255, at, at + 3);
      pixels[at + 3] = 255;
    }
    return readQrPixels(pixels, width * scale, height * scale);
  }
});
