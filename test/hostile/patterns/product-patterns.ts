import type { z } from 'zod/v4';
import { inputSchemas, walkSchema } from '../../support/walk-schema.ts';
import { collectPatterns, type FoundPattern } from './collect-patterns.ts';
import { tryPatterns } from './try-patterns.ts';

const FOLDERS = ['contract', 'core', 'server', 'worker', 'network', 'sdk', 'cli', 'standalone'];
/** CPU time that one attack may take. */
export const LIMIT_MS = 100;

/** Patterns that may be slow, each with the reason why no stranger's text reaches them. */
export const EXEMPT: readonly { file: string; source: string; reason: string }[] = [];

/** Every pattern in the sources. */
export function patternsOfSources(): FoundPattern[] {
  return collectPatterns(FOLDERS);
}

/** zod's patterns for e-mail addresses, UUIDs, times and the like, and our own in the schemas. */
export function patternsOfContracts(): FoundPattern[] {
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

/** A line for each pattern that does not withstand an attack of this many characters. */
export async function faultsOf(patterns: readonly FoundPattern[], chars: number): Promise<string[]> {
  const tried = patterns.filter(
    (found) => !EXEMPT.some(({ file, source }) => file === found.file && source === found.source),
  );
  const tasks = tried.map(({ source, flags }) => ({ source, flags, chars, limitMs: LIMIT_MS }));
  const verdicts = await tryPatterns(tasks);
  return tried.flatMap(({ file, line, source, flags }, nth) => {
    const { fault, attack } = verdicts[nth]!;
    return fault === null
      ? []
      : [`${file}:${line} /${source}/${flags} ${fault} at ${JSON.stringify(attack)}`];
  });
}
