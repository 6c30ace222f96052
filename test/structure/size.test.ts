import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import ts from 'typescript';
import { KNOWN_LONG_FILES, KNOWN_LONG_FUNCTIONS } from './exceptions.ts';
import { parse, readSources, type Source } from './sources.ts';

const FILE_LINES_MAX = 300;
const FUNCTION_LINES_MAX = 80;
/** On a line of its own, in the first lines of a file or directly above a function. */
const REASON = /^\s*\/\/ long: \S.{10,}$/;

/** A migration that landed is never edited. */
const sources = readSources().filter(({ file }) => !/^core\/migrations\/\w+\/\d/.test(file));

/** Functions of any kind with more lines than allowed and no reason, as `file: name`. */
function longFunctions(source: Source): string[] {
  const tree = parse(source);
  const lines = source.text.split('\n');
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const first = tree.getLineAndCharacterOfPosition(statementOf(node).getStart()).line;
      const begins = tree.getLineAndCharacterOfPosition(node.getStart()).line;
      const last = tree.getLineAndCharacterOfPosition(node.end).line;
      if (last - begins + 1 > FUNCTION_LINES_MAX && !REASON.test(lines[first - 1] ?? ''))
        found.push(`${source.file}: ${nameOf(node)}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

/** A function that is a constant's value has its comment above the constant. */
function statementOf(node: ts.Node): ts.Node {
  const declaration = node.parent;
  const isValue = ts.isVariableDeclaration(declaration) || ts.isPropertyAssignment(declaration);
  if (!isValue) return node;
  return ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
}

function nameOf(node: ts.SignatureDeclaration): string {
  const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return named?.getText() ?? 'a function without a name';
}

describe('no source', () => {
  it(`file has more than ${FILE_LINES_MAX} lines without a reason in its first ones`, () => {
    const long = sources
      .filter(({ text }) => text.trimEnd().split('\n').length > FILE_LINES_MAX)
      .filter(({ text }) => !text.split('\n', 40).some((line) => REASON.test(line)))
      .map(({ file }) => file);
    assert.deepEqual(long, [...KNOWN_LONG_FILES].sort());
  });

  it(`function has more than ${FUNCTION_LINES_MAX} lines without a reason above it`, () => {
    assert.deepEqual(sources.flatMap(longFunctions).sort(), [...KNOWN_LONG_FUNCTIONS].sort());
  });
});
