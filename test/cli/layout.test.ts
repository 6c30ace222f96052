import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { drawQr } from '@posthorn/cli/qr/draw.ts';
import { filterRows, firstShown, fitColumns, wrapLines } from '@posthorn/cli/views/layout.ts';
import fc from 'fast-check';
import { create } from 'qrcode';

const COLUMNS = [
  { title: 'A', width: 10, dispensable: 0 },
  { title: 'B', width: 20, dispensable: 2 },
  { title: 'C', width: 10, dispensable: 1, isGrowing: true },
];

describe('what of a table fits', () => {
  test('all of it, where there is room; one column takes the rest', () => {
    assert.deepEqual(fitColumns(COLUMNS, 60), [10, 20, 26]);
  });

  test('what is dispensable goes first, the rest last, and one column always stays', () => {
    assert.deepEqual(fitColumns(COLUMNS, 30), [10, 0, 18]);
    assert.deepEqual(fitColumns(COLUMNS, 15), [10, 0, 0]);
    assert.deepEqual(fitColumns(COLUMNS, 5), [5, 0, 0]);
  });

  test('the selected row is among those shown', () => {
    fc.assert(
      fc.property(fc.nat(200), fc.nat(200), fc.integer({ min: 1, max: 50 }), (count, chosen, height) => {
        const selected = Math.min(chosen, Math.max(0, count - 1));
        const first = firstShown(count, selected, height);
        assert.ok(first >= 0 && first <= selected && selected < first + height);
      }),
    );
  });

  test('a filter finds rows that hold each of its words', () => {
    const rows = [{ cells: ['message.sent', 'ok'] }, { cells: ['message.read', 'Failed'] }];
    assert.deepEqual(filterRows(rows, 'fail MESSAGE'), [rows[1]]);
    assert.deepEqual(filterRows(rows, '  '), rows);
  });

  test('long lines are cut and nothing is lost', () => {
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
  test('has the modules of the code, and a margin', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 300 }), (text) => {
        const { size, data } = create(text, { errorCorrectionLevel: 'L' }).modules;
        for (const ink of ['dark', 'light'] as const) {
          const lines = drawQr(text, ink);
          for (let row = -2; row < size + 2; row += 1) {
            const line = [...(lines[Math.floor((row + 2) / 2)] ?? '')];
            const full = row % 2 === 0 ? '█▀' : '█▄';
            for (let column = -2; column < size + 2; column += 1) {
              const isInside = row >= 0 && row < size && column >= 0 && column < size;
              const isDark = isInside && data[row * size + column] === 1;
              assert.equal(full.includes(line[column + 2] ?? ''), isDark === (ink === 'dark'));
            }
          }
        }
      }),
      { numRuns: 20 },
    );
  });
});
