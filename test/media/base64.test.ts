import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createBase64Decoder } from '@posthorn/core/media/base64-decoder.ts';
import { MediaRejected } from '@posthorn/core/media/media-rejected.ts';
import { createMediaScanner } from '@posthorn/server/messaging/media/media-scanner.ts';
import { PLACEHOLDER } from '@posthorn/server/messaging/media/placeholder.ts';
import fc from 'fast-check';

function decode(pieces: readonly string[]): { bytes: Buffer; mimeType: string } {
  const decoder = createBase64Decoder();
  const bytes = Buffer.concat([...pieces.map((piece) => decoder.push(piece)), decoder.end()]);
  return { bytes, mimeType: decoder.mimeType() };
}

/** A text cut at random places. */
const cutting = (text: string, cuts: readonly number[]) => {
  const at = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [...at, text.length].map((end, nth) => text.slice(nth === 0 ? 0 : at[nth - 1]!, end));
};

describe('base64 in pieces', () => {
  test('decodes to the same bytes wherever it is cut, bare or as a data URI, in all its dialects', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        fc.constantFrom('', 'data:image/png;base64,', 'data:;base64,', 'data:audio/ogg;codecs=opus;base64,'),
        fc.constantFrom(
          (text: string) => text,
          (text: string) => text.replace(/=+$/, ''),
          (text: string) => text.replaceAll('+', '-').replaceAll('/', '_'),
          (text: string) => text.replace(/(.{20})/g, '$1\r\n'),
        ),
        (bytes, cuts, prefix, dialect) => {
          const text = prefix + dialect(Buffer.from(bytes).toString('base64'));
          const decoded = decode(cutting(text, cuts));
          assert.deepEqual(decoded.bytes, Buffer.from(bytes));
          assert.equal(decoded.mimeType, prefix.replace(/^data:|;base64,$/g, ''));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('refuses invalid base64', () => {
    for (const text of [
      'a',
      'ab$=',
      '====',
      'QQ==QQ==',
      'data:x;base64',
      'data:text/plain,hi',
      'QQ=',
      'é',
      'A===',
    ]) {
      for (const pieces of [[text], [...text]]) {
        assert.throws(() => decode(pieces), MediaRejected, text);
      }
    }
  });
});

function scan(text: string, cuts: readonly number[]): { rest: string; media: string | null } {
  const scanner = createMediaScanner();
  const bytes = Buffer.from(text);
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const rest: Uint8Array[] = [];
  let media = '';
  [...at, bytes.length].forEach((end, nth) => {
    for (const piece of scanner.scan(bytes.subarray(nth === 0 ? 0 : at[nth - 1]!, end))) {
      if (piece.kind === 'json') rest.push(Buffer.from(piece.bytes));
      else media += piece.text;
    }
  });
  return { rest: Buffer.concat(rest).toString(), media: scanner.found() ? media : null };
}

describe('the media in a JSON body', () => {
  const key = fc.oneof(
    fc.string({ maxLength: 15 }),
    fc.constantFrom('media_base64 ', 'media_base6', 'x"media_base64":"', 'media_base64\\'),
  );
  const other = fc.dictionary(
    key.filter((name) => name !== 'media_base64' && name !== '__proto__'),
    fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant({ media_base64: 'not this one' }),
      fc.constant('"media_base64":"no'),
    ),
    { maxKeys: 5 },
  );

  test('is found at any place and however it is cut, and the rest stays unchanged', () => {
    fc.assert(
      fc.property(
        other,
        other,
        fc.option(fc.string({ minLength: 1, maxLength: 60, unit: fc.constantFrom(...'ABCabc019+/=-_ \n') })),
        fc.array(fc.nat(), { maxLength: 30 }),
        fc.constantFrom(undefined, 1, '\t'),
        fc.boolean(),
        (before, behind, media, cuts, indent, escapeSlashes) => {
          const given = { ...before, ...(media === null ? {} : { media_base64: media }), ...behind };
          let text = JSON.stringify(given, null, indent);
          // As JSON parses it: JSON has no -0.
          const body = JSON.parse(text) as typeof given;
          if (escapeSlashes) text = text.replaceAll('/', '\\/');
          const found = scan(text, cuts);
          assert.equal(found.media, media);
          assert.deepEqual(
            JSON.parse(found.rest),
            media === null ? body : { ...body, media_base64: PLACEHOLDER },
          );
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('is unescaped from escapes of every kind', () => {
    const text = '{"media_base64":"A\\u0042\\/\\n\\u002bC","to":"x"}';
    for (let cut = 0; cut <= text.length; cut += 1) {
      assert.deepEqual(scan(text, [cut]), {
        rest: `{"media_base64":"${PLACEHOLDER}","to":"x"}`,
        media: 'AB/\n+C',
      });
    }
  });

  test('is left in place when it is no string, or not at the top', () => {
    for (const text of [
      '{"media_base64":null}',
      '{"media_base64":5,"a":"b"}',
      '{"media_base64":["x"]}',
      '{"a":{"media_base64":"x"}}',
      '["media_base64","x"]',
      '"media_base64"',
      '{"a":"media_base64","b":"x"}',
    ]) {
      assert.deepEqual(scan(text, [3, 9]), { rest: text, media: null });
    }
  });

  test('given twice is refused', () => {
    assert.throws(() => scan('{"media_base64":"QQ==","media_base64":"QQ=="}', []), /given twice/);
  });
});
