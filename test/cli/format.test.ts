import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { parseAssignments } from '@posthorn/cli/assignments.ts';
import { parseSince } from '@posthorn/cli/commands/events/since.ts';
import { UsageError } from '@posthorn/cli/fault.ts';
import { fields, jsonText, printable, table, visible, visibleData } from '@posthorn/cli/format.ts';
import { createOutput } from '@posthorn/cli/output.ts';
import fc from 'fast-check';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come out
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

describe('text for people', () => {
  test('never contains characters that move the cursor or reverse the text, whatever was received', () => {
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

  test('shows every character that is hidden, or turns the direction, alone and between letters', () => {
    const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
    let found = 0;
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const char = String.fromCodePoint(code);
      if (!hidden.test(char)) continue;
      found += 1;
      for (const text of [char, `a${char}b`, `${char}${char}`, `😀a${char}`]) {
        assert.doesNotMatch(printable(text), hidden, code.toString(16));
        assert.doesNotMatch(jsonText(text), hidden, code.toString(16));
        if (!'\n\t'.includes(char)) assert.doesNotMatch(visible(text), hidden, code.toString(16));
      }
      assert.equal(JSON.parse(jsonText(`a${char}b`)), `a${char}b`);
    }
    assert.ok(found > 4_000, `${found}`);
    assert.equal(printable('\u{e0041}\u061c\u200f'), '\\udb40\\udc41\\u061c\\u200f');
  });

  test('shows a text that hides in the variation selectors of a picture', () => {
    const smuggled = [...'ignore'].map((char) => String.fromCodePoint(0xe0100 + char.charCodeAt(0) - 16));
    assert.equal(visible(`😀${smuggled.join('')}`).length, 2 + 12 * smuggled.length);
    assert.equal(visible('❤\ufe0f\ufe0f\u200d'), '❤\ufe0f\\ufe0f\\u200d');
  });

  test('leaves pictures, scripts and ends of lines as they are', () => {
    for (const text of [
      '❤️',
      '👩‍👩‍👧‍👦',
      '🏳️‍🌈',
      '👍🏽',
      '👩🏽‍🚀',
      '1️⃣',
      'olá, çedilha',
      'שלום',
      'مرحبا',
      '你好\n\tx',
    ])
      assert.equal(visible(text), text);
  });

  test('is made so wherever a command writes it, and in every field of data for a model', async () => {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    for (const isJson of [false, true]) {
      const out = createOutput({ stdout, stderr, isJson });
      out.show({ name: '\u202ex' }, 'a\u202ex\nb');
      out.item({ name: '\u{e0041}' }, '\u{e0041}');
      out.note('\u200f');
    }
    const hidden = /[\u202e\u200f\u{e0041}]/u;
    assert.doesNotMatch(String(stdout.read()) + String(stderr.read()), hidden);
    assert.deepEqual(visibleData({ 'k\u200b': ['\u061c', { n: 1, none: null, is: true }] }), {
      'k\\u200b': ['\\u061c', { n: 1, none: null, is: true }],
    });
  });

  test('is printed in columns under their names', () => {
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
