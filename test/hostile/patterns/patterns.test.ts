import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { z } from 'zod/v4';
import { inputSchemas, walkSchema } from '../../support/walk-schema.ts';
import { collectPatterns, type FoundPattern, patternsIn } from './collect-patterns.ts';
import { tryPatterns } from './try-patterns.ts';

/**
 * Every regular expression of the product stands attacks of 100 kB that are made of its own pieces. A pattern that
 * takes more than linear time on what a stranger sends stops the whole process: one that was written here before
 * did so with 281 bytes.
 */
const FOLDERS = ['contract', 'core', 'server', 'worker', 'network', 'sdk', 'cli', 'standalone'];
const ATTACK = { chars: 100_000, limitMs: 100 };

/** Patterns that may be slow, each with the reason why no stranger's text meets them. */
const EXEMPT: readonly { file: string; source: string; reason: string }[] = [];

/** The patterns that zod brings along for e-mail addresses, UUIDs, times and the like, and our own in the schemas. */
function patternsOfContracts(): FoundPattern[] {
  const found = new Map<string, FoundPattern>();
  for (const { name, schema } of inputSchemas()) {
    walkSchema(schema, (part) => {
      const { bag } = (part as z.ZodType & { _zod: { bag: { patterns?: Set<RegExp> } } })._zod;
      for (const { source, flags } of bag.patterns ?? [])
        found.set(`/${source}/${flags}`, { file: `contract, ${name}`, line: 0, source, flags });
    });
  }
  return [...found.values()];
}

async function faultsOf(patterns: readonly FoundPattern[]): Promise<string[]> {
  const verdicts = await tryPatterns(patterns.map(({ source, flags }) => ({ source, flags, ...ATTACK })));
  return patterns.flatMap(({ file, line, source, flags }, nth) => {
    const { fault, attack } = verdicts[nth]!;
    return fault === null
      ? []
      : [`${file}:${line} /${source}/${flags} ${fault} at ${JSON.stringify(attack)}`];
  });
}

describe('every regular expression takes linear time', () => {
  test('in the sources', async () => {
    const all = collectPatterns(FOLDERS);
    assert.ok(all.length > 150, `only ${all.length} patterns were found`);
    const isExempt = (found: FoundPattern) =>
      EXEMPT.some(({ file, source }) => file === found.file && source === found.source);
    assert.deepEqual(await faultsOf(all.filter((found) => !isExempt(found))), []);
  });

  test('in the schemas of both contracts', async () => {
    const all = patternsOfContracts();
    assert.ok(all.length > 8, `only ${all.length} patterns were found`);
    assert.deepEqual(await faultsOf(all), []);
  });

  test('and no exemption outlives its pattern', () => {
    const all = collectPatterns(FOLDERS);
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
  // Both stood in the product once: exponential on comments, cubic on blanks.
  const svg = String.raw`
    const PROLOGUE = String.raw${'`'}^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--[\s\S]*?-->\s*)*(?:<!doctype\s+svg[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*${'`'};
    const SVG = new RegExp(${'`'}${'$'}{PROLOGUE}<svg[\\s>]${'`'}, 'i');`;
  const slow: Record<string, string> = {
    'an exponential one, put together of constants': svg,
    'a cubic one': String.raw`const RANGE = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/;`,
    'a quadratic one': String.raw`const slashes = text.replace(/\/+$/, '');`,
    'a quadratic one behind a choice': "const dashes = text.replace(/^-+|-+$/g, '');",
    'two that overlap': String.raw`const words = /(\w+\s?)+!/.test(text);`,
  };
  for (const [what, text] of Object.entries(slow)) {
    test(`find ${what}`, async () => {
      const found = patternsIn('example.ts', text);
      assert.equal(found.length, 1);
      const { source, flags } = found[0]!;
      const [verdict] = await tryPatterns([{ source, flags, ...ATTACK }], { hangsMs: 3_000 });
      assert.notEqual(verdict!.fault, null, `/${source}/${flags} stood ${verdict!.attacks} attacks`);
    });
  }
});
