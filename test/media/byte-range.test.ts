import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRange } from '@posthorn/server/messaging/media/byte-range.ts';
import fc from 'fast-check';

const SIZE = 1_000;
const bytes = (start: number, end: number) => ({ start, end });

/** Header, and the range that it selects of a file of 1,000 bytes (RFC 9110 14.1.2 and 14.2). */
const CASES: [string | undefined, ReturnType<typeof parseRange>][] = [
  [undefined, undefined],
  ['bytes=0-0', bytes(0, 0)],
  ['bytes=0-499', bytes(0, 499)],
  ['bytes=500-999', bytes(500, 999)],
  // Beyond the end: cut at the end.
  ['bytes=500-5000', bytes(500, 999)],
  [`bytes=0-${'9'.repeat(60)}`, bytes(0, 999)],
  // From here to the end.
  ['bytes=0-', bytes(0, 999)],
  ['bytes=999-', bytes(999, 999)],
  // The last bytes.
  ['bytes=-1', bytes(999, 999)],
  ['bytes=-500', bytes(500, 999)],
  ['bytes=-5000', bytes(0, 999)],
  // Blanks around, and the unit in any case.
  ['bytes= 0-4 ', bytes(0, 4)],
  ['bytes=0 - 4', bytes(0, 4)],
  ['BYTES=0-4', bytes(0, 4)],
  ['bytes=007-008', bytes(7, 8)],
  // No byte of the file: 416.
  ['bytes=1000-', 'beyond'],
  ['bytes=1000-2000', 'beyond'],
  [`bytes=${'9'.repeat(60)}-`, 'beyond'],
  ['bytes=-0', 'beyond'],
  // Several ranges, other units, and texts that are no range: ignored.
  ['bytes=0-1,5-6', undefined],
  ['bytes=0-1,', undefined],
  ['lines=0-1', undefined],
  ['bytes', undefined],
  ['bytes=', undefined],
  ['bytes=-', undefined],
  ['bytes=--1', undefined],
  ['bytes=1', undefined],
  ['bytes=9-3', undefined],
  ['bytes=0-1-2', undefined],
  ['bytes=0x1-2', undefined],
  ['bytes=1e1-', undefined],
  ['bytes=+1-2', undefined],
  ['bytes=1.0-2', undefined],
  ['bytes=٣-٤', undefined],
  ['bytes =0-1', undefined],
  [' bytes=0-1', undefined],
  ['', undefined],
  ['nonsense', undefined],
  [`bytes=${' '.repeat(12_000)}x`, undefined],
  [`bytes=0-1${' '.repeat(200)}`, undefined],
];

describe('a Range header', () => {
  for (const [header, expected] of CASES)
    test(`${JSON.stringify(header?.slice(0, 70))} of ${SIZE} bytes`, () =>
      assert.deepEqual(parseRange(header, SIZE), expected));

  test('never selects a part of an empty file', () => {
    assert.equal(parseRange('bytes=0-', 0), 'beyond');
    assert.equal(parseRange('bytes=-5', 0), undefined);
  });

  test('gives an existing part or none, whatever it says', () => {
    const piece = fc.oneof(
      fc.constantFrom('bytes=', ' ', '-', ',', '\t', '0', '999', '1000'),
      fc.string(),
      fc.nat().map(String),
    );
    const header = fc.array(piece).map((pieces) => `bytes=${pieces.join('')}`);
    fc.assert(
      fc.property(fc.oneof(header, fc.string()), fc.nat({ max: 5_000 }), (text, size) => {
        const range = parseRange(text, size);
        if (range === undefined || range === 'beyond') return true;
        return range.start >= 0 && range.start <= range.end && range.end < size;
      }),
      { numRuns: 5_000 },
    );
  });

  test('is parsed in a moment, whatever its length', () => {
    const before = process.threadCpuUsage();
    for (const piece of [' ', '0', '-', '0-', ' 0', '\t', ','])
      for (const tail of ['', 'x', '-']) parseRange(`bytes=${piece.repeat(200_000)}${tail}`, SIZE);
    assert.ok(process.threadCpuUsage(before).user < 500_000);
  });
});
