import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readDocument } from '../support/openapi-documents.ts';
import { projectRoot } from '../support/process.ts';

// The linters themselves run in `npm run check`: they take longer than all other tests of the documents.

const CONFIGS = ['.redocly.lint-ignore.yaml', 'spectral.yaml'];

test('each exception of the linters has its reason above it and stands for an operation that is there', () => {
  const { paths } = readDocument('messaging');
  for (const name of CONFIGS) {
    const lines = readFileSync(path.join(projectRoot, 'openapi', name), 'utf8').split('\n');
    const pointers = lines.filter((line) => line.includes('#/paths/'));
    assert.ok(pointers.length > 0, name);
    for (const line of pointers) {
      const [, encoded = ''] = /#\/paths\/([^/']+)/.exec(line) ?? [];
      const route = decodeURIComponent(encoded).replaceAll('~1', '/');
      assert.ok(paths[route], `${name}: ${route} is not there`);
      const above = lines
        .slice(0, lines.indexOf(line))
        .findLast((each) => !each.includes('#/paths/') && each.trim() !== '- files:');
      assert.match(above ?? '', /^ +# \S/, `${name}: ${route} has no reason`);
    }
  }
});
