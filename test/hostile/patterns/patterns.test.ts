import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { patternsIn } from './collect-patterns.ts';
import { EXEMPT, faultsOf, LIMIT_MS, patternsOfContracts, patternsOfSources } from './product-patterns.ts';
import { tryPatterns } from './try-patterns.ts';

/**
 * Every regular expression of the product withstands attacks that are made of its own pieces. A pattern that takes more
 * than linear time on a stranger's text stops the whole process: an earlier one did so with 281 bytes.
 *
 * A quadratic one takes several times the limit at this length. `patterns.slow.test.ts` attacks with 100 kB.
 */
const CHARS = 20_000;

describe('every regular expression takes linear time', () => {
  test('in the sources', async () => {
    const all = patternsOfSources();
    assert.ok(all.length > 150, `only ${all.length} patterns were found`);
    assert.deepEqual(await faultsOf(all, CHARS), []);
  });

  test('in the schemas of both contracts', async () => {
    const all = patternsOfContracts();
    assert.ok(all.length > 8, `only ${all.length} patterns were found`);
    assert.deepEqual(await faultsOf(all, CHARS), []);
  });

  test('and no exemption outlives its pattern', () => {
    const all = patternsOfSources();
    for (const { file, source, reason } of EXEMPT) {
      assert.notEqual(reason, '');
      assert.ok(
        all.some((found) => found.file === file && found.source === source),
        `${file} has no /${source}/`,
      );
    }
  });
});

describe('the attacks', () => {
  // Both were once in the product: exponential on comments, cubic on blanks.
  const svg = String.raw`
    const PROLOGUE = String.raw${'`'}^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--[\s\S]*?-->\s*)*(?:<!doctype\s+svg[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*${'`'};
    const SVG = new RegExp(${'`'}${'$'}{PROLOGUE}<svg[\\s>]${'`'}, 'i');`;
  // With this many characters each takes several times the limit. Those with fewer would take for ever with more.
  const slow: Record<string, [text: string, chars: number]> = {
    'an exponential one, put together of constants': [svg, 1_000],
    'a cubic one': [String.raw`const RANGE = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/;`, CHARS],
    'a quadratic one': [String.raw`const slashes = text.replace(/\/+$/, '');`, CHARS],
    'a quadratic one behind a choice': ["const dashes = text.replace(/^-+|-+$/g, '');", CHARS],
    'two that overlap': [String.raw`const words = /(\w+\s?)+!/.test(text);`, 1_000],
  };
  for (const [what, [text, chars]] of Object.entries(slow)) {
    test(`find ${what}`, async () => {
      const found = patternsIn('example.ts', text);
      assert.equal(found.length, 1);
      const { source, flags } = found[0]!;
      const task = { source, flags, chars, limitMs: LIMIT_MS };
      const [verdict] = await tryPatterns([task], { hangsMs: 3_000 });
      assert.notEqual(verdict!.fault, null, `/${source}/${flags} stood ${verdict!.attacks} attacks`);
    });
  }
});
