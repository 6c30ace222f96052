import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseAssignments } from '@posthorn/cli/assignments.ts';
import { parseSince } from '@posthorn/cli/commands/events/since.ts';
import { UsageError } from '@posthorn/cli/fault.ts';
import { fields, printable, table } from '@posthorn/cli/format.ts';
import fc from 'fast-check';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come out
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

describe('text for people', () => {
  test('never carries what would move the cursor or turn the text around, whatever was received', () => {
    const nasty = fc.string({ unit: 'binary', maxLength: 40 });
    fc.assert(
      fc.property(nasty, nasty, (first, second) => {
        const shown = [
          printable(first),
          fields({ first, nested: { second } }),
          table([{ first }], ['first'], ''),
        ];
        for (const text of shown) assert.doesNotMatch(text, CONTROL);
        assert.doesNotMatch(printable(first), /\n/);
      }),
    );
    assert.equal(printable('\u001b[31mred\u0007'), '\\u001b[31mred\\u0007');
  });

  test('stands in columns under their names', () => {
    const rows = [
      { id: 1, name: 'a', list: ['x', 'y'] },
      { id: 20, name: null, list: [] },
    ];
    assert.equal(
      table(rows, ['id', 'name', 'list'], 'nothing'),
      'ID  NAME  LIST\n1   a     x, y\n20  -     -',
    );
    assert.equal(table([], ['id'] as never, 'nothing'), 'nothing');
  });
});

describe('name=value', () => {
  test('keeps phone numbers as text and reads switches, short numbers and JSON', () => {
    assert.deepEqual(
      parseAssignments([
        'phone=5511999990000',
        'times=3',
        'probability=0.5',
        'online=false',
        'auto_reply=null',
        'name=Ana=B',
        'ids:=["a"]',
        'n:=1234567890',
        'empty=',
      ]),
      {
        phone: '5511999990000',
        times: 3,
        probability: 0.5,
        online: false,
        auto_reply: null,
        name: 'Ana=B',
        ids: ['a'],
        n: 1234567890,
        empty: '',
      },
    );
  });
  for (const item of ['name', '=x', 'a b=c', 'ids:=[', '--flag']) {
    test(`refuses ${item}`, () => assert.throws(() => parseAssignments([item]), UsageError));
  }
});

describe('--since', () => {
  test('takes an age or a time', () => {
    const now = Date.parse('2026-01-31T12:00:00Z');
    assert.equal(parseSince('90s', now), now - 90_000);
    assert.equal(parseSince('10m', now), now - 600_000);
    assert.equal(parseSince('2h', now), now - 7_200_000);
    assert.equal(parseSince('1d', now), now - 86_400_000);
    assert.equal(parseSince('2026-01-31T11:00:00Z', now), now - 3_600_000);
    for (const junk of ['', 'yesterday', '10', '5x']) assert.throws(() => parseSince(junk, now), UsageError);
  });
});
