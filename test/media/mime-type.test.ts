import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MediaKind } from '@posthorn/core/media/media-port.ts';
import { canBeSentAs } from '@posthorn/core/media/media-type.ts';
import { parseMimeType } from '@posthorn/core/media/mime-type.ts';

/** Texts that only begin, or only end, like an accepted type. */
const NEARLY = [
  '',
  'image',
  'image/',
  '/png',
  'image//png',
  'image/png/x',
  'ximage/png, text/html',
  'image/png, text/html',
  'image/png,image/gif',
  'image/png text/html',
  'image/png\ntext/html',
  'image/png; a=b, text/html',
  'image/png; a',
  'image/png; a="b',
  'image/*',
  '*/*',
  'image/<svg>',
  `image/${'a'.repeat(300)}`,
];

describe('a media type is judged as a whole', () => {
  for (const text of NEARLY) {
    test(`${JSON.stringify(text.slice(0, 40))} is none`, () => {
      assert.equal(parseMimeType(text), null);
      for (const kind of [
        'image',
        'video',
        'ptv',
        'gif',
        'audio',
        'sticker',
        'document',
      ] satisfies MediaKind[])
        assert.equal(canBeSentAs(text, kind), false, kind);
    });
  }

  test('its parameters, blanks and case change nothing', () => {
    for (const text of ['image/png', 'IMAGE/PNG', ' image/png ', 'image/png;', 'image/png; a=b;c="d, e"'])
      assert.equal(parseMimeType(text)?.bare, 'image/png', text);
  });

  test('sends accept the types that fit them', () => {
    const cases: [MediaKind, string, boolean][] = [
      ['image', 'image/png', true],
      ['image', 'image/svg+xml', false],
      ['image', 'image/SVG+xml; charset=utf-8', false],
      ['image', 'ximage/png', false],
      ['sticker', 'image/webp', true],
      ['sticker', 'image/webpx', false],
      ['gif', 'image/gif', true],
      ['gif', 'image/gifx', false],
      ['audio', 'video/webm', true],
      ['audio', 'video/webmx', false],
      ['audio', 'audio/ogg; codecs=opus', true],
      ['document', 'application/zip', true],
      ['document', 'text/html', false],
      ['document', 'text/html; charset=utf-8', false],
      ['document', 'TEXT/HTML', false],
    ];
    for (const [kind, text, takes] of cases) assert.equal(canBeSentAs(text, kind), takes, `${kind} ${text}`);
  });
});
