import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KNOWN_DUPLICATES } from './exceptions.ts';
import { readSources, type Source } from './sources.ts';

/** Lines with content: a bracket alone does not count. */
const BLOCK_LINES = 10;

interface Line {
  text: string;
  nth: number;
}

/** The lines of a file that are compared: without imports, comments, empty lines and closing brackets. */
function linesOf({ text }: Source): Line[] {
  const code = text
    .replace(/^(?:import|export)\b[^;]*?from '[^']+';/gm, (found) => found.replace(/[^\n]/g, ''))
    .replace(/\/\*[\s\S]*?\*\//g, (found) => found.replace(/[^\n]/g, ''));
  return code
    .split('\n')
    .map((line, at) => ({ text: line.replace(/\s*\/\/.*$/, '').trim(), nth: at + 1 }))
    .filter((line) => /\w/.test(line.text));
}

/** Every block of ten lines that occurs in two places, each pair of files once. */
function duplicates(sources: readonly Source[]): Map<string, string> {
  const seen = new Map<string, { file: string; nth: number; at: number }>();
  const found = new Map<string, string>();
  for (const source of sources) {
    const lines = linesOf(source);
    for (let at = 0; at + BLOCK_LINES <= lines.length; at += 1) {
      const block = lines.slice(at, at + BLOCK_LINES);
      const key = block.map((line) => line.text).join('\n');
      const nth = block[0]?.nth ?? 0;
      const other = seen.get(key);
      if (!other) seen.set(key, { file: source.file, nth, at });
      else if (other.file !== source.file || at - other.at >= BLOCK_LINES) {
        const pair = [other.file, source.file].sort().join(' and ');
        if (!found.has(pair)) found.set(pair, `${other.file}:${other.nth} and ${source.file}:${nth}`);
      }
    }
  }
  return found;
}

describe('no block of ten lines', () => {
  it('occurs in two places', () => {
    // A migration that landed is never edited.
    const sources = readSources().filter(({ file }) => !/^core\/migrations\/\w+\/\d/.test(file));
    const found = duplicates(sources);
    const unknown = [...found].filter(([pair]) => !KNOWN_DUPLICATES.includes(pair));
    assert.deepEqual(
      unknown.map(([, places]) => places),
      [],
    );
    assert.deepEqual(
      KNOWN_DUPLICATES.filter((pair) => !found.has(pair)),
      [],
      'these exceptions are not needed any more',
    );
  });
});
