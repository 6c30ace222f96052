import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { projectRoot } from '../support/process.ts';

const GENERATED: readonly string[] = ['node_modules', 'dist', 'coverage', 'packed'];
/** A block, lines that begin with `//`, or a `//` behind code. A slash within a string or a glob has no space before it. */
const COMMENT = /(?<=^|[\s{(])\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+|(?<=\s)\/\/ .*$/gm;
const MARKS = /^\s*(?:\/\*+|\*+\/|\*|\/\/)?\s*(?:- )?|\s*\*+\/\s*$/g;
/** Such a sentence names its object before its actor, or no actor at all. */
const OPENING = /(?<=^|[.!?:]["')`]* )(?:What|Of|Who|Whom|Whose|Whatever|Whoever)\b/;

/** The sentences of a source's comments that begin with one of these words, as `line: text`. */
function badOpenings(text: string): string[] {
  return [...text.matchAll(COMMENT)].flatMap(({ 0: comment, index }) => {
    const lines = comment.split('\n').map((line) => line.replace(MARKS, ''));
    const paragraphs = lines.join('\n').split(/\n{2,}/);
    const bad = paragraphs.map((paragraph) => OPENING.exec(paragraph.trim().replaceAll('\n', ' ')));
    const line = text.slice(0, index).split('\n').length;
    return bad.flatMap((found) =>
      found ? [`${line}: ${found.input.slice(found.index, found.index + 60)}`] : [],
    );
  });
}

describe('no sentence of a comment', () => {
  it('begins with What, Of or Who', () => {
    const files = globSync('**/*.{ts,tsx,mjs}', {
      cwd: projectRoot,
      exclude: (name) => GENERATED.includes(name) || name.startsWith('.'),
    });
    assert.ok(files.length > 1_000);
    const bad = files.sort().flatMap((file) => {
      const text = readFileSync(path.join(projectRoot, file), 'utf8');
      return badOpenings(text).map((opening) => `${file}:${opening}`);
    });
    assert.deepEqual(bad, []);
  });

  it('is overlooked, wherever it is in the comment', () => {
    const begin = 'What it holds';
    assert.equal(badOpenings(`/** ${begin}. */`).length, 1);
    assert.equal(badOpenings(`/**\n * The box.\n * ${begin} is left.\n */`).length, 1);
    assert.equal(badOpenings(`/**\n * The box\n *\n * ${begin} is left.\n */`).length, 1);
    assert.equal(badOpenings(`  // The box.\n  // ${begin} is left.`).length, 1);
    assert.equal(badOpenings(`open(box); // ${begin} is left.`).length, 1);
    assert.deepEqual(badOpenings(`const glob = '**/*.ts'; const text = '${begin}. ${begin}.';`), []);
    assert.deepEqual(badOpenings('// The box tells what it holds, and who filled it.'), []);
  });
});
