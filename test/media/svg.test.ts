import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isSvgText } from '@posthorn/core/media/svg.ts';

const COMMENT = '<!-- made by hand > and <svg> -->';
const DOCTYPE =
  '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">';
const ENTITIES = '<!DOCTYPE svg PUBLIC "a" "b" [\n<!ENTITY ns "http://ns.adobe.com/">\n]>';

describe('SVG is known by how it begins', () => {
  for (const head of [
    '<svg>',
    '<svg xmlns="http://www.w3.org/2000/svg">',
    '<SVG\n>',
    '<svg/>',
    '  \n\t<svg >',
    '<?xml version="1.0"?><svg >',
    `<?xml version="1.0"?>\n<?xml-stylesheet href="a.css"?>\n${COMMENT}\n${DOCTYPE}\n${COMMENT}<svg >`,
    `${COMMENT}${COMMENT} <svg >`,
    `${ENTITIES}<svg >`,
    '<!---->'.repeat(500).concat('<svg>'),
  ])
    test(JSON.stringify(head.slice(0, 60)), () => assert.equal(isSvgText(head), true));
});

describe('a text that only resembles SVG is not taken for it', () => {
  for (const head of [
    '',
    'svg',
    '<svg',
    '<svgx>',
    'x<svg>',
    '<!-- <svg>',
    '<!--><svg>',
    '<?xml <svg>',
    '<!doctype html><svg>',
    '<!doctype svgx><svg>',
    '<!DOCTYPE svg [ <svg>',
    '<html><svg></svg></html>',
    `${'<!---->'.repeat(40)}x`,
  ])
    test(JSON.stringify(head.slice(0, 60)), () => assert.equal(isSvgText(head), false));
});

test('a megabyte of skipped text takes a moment', () => {
  for (const piece of [
    '<!---->',
    '<!--',
    ' ',
    '<?',
    '<??>',
    '<!doctype svg>',
    '<!doctype svg[',
    '<!doctype svg[]>',
    '<',
    '\u0085',
  ]) {
    const text = piece.repeat(1_000_000 / piece.length);
    const judged = () => {
      const before = process.threadCpuUsage();
      for (const tail of ['', 'x', '>', '<svg']) isSvgText(text + tail);
      return process.threadCpuUsage(before).user;
    };
    // Some machines count time that they took from us as ours: it counts when it happens twice.
    const first = judged();
    const user = first < 1_000_000 ? first : judged();
    assert.ok(user < 1_000_000, `${piece}: ${user} µs`);
  }
});
