import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readDocument } from '../support/openapi-documents.ts';
import { projectRoot } from '../support/process.ts';

// `npm run check` runs the linter itself.

const EXCEPTIONS = '.redocly.lint-ignore.yaml';

test('each exception of the linter has its reason above it and names an existing operation', () => {
  const { paths } = readDocument('messaging');
  const lines = readFileSync(path.join(projectRoot, 'openapi', EXCEPTIONS), 'utf8').split('\n');
  const pointers = lines.filter((line) => line.includes('#/paths/'));
  assert.ok(pointers.length > 0);
  for (const line of pointers) {
    const [, encoded = ''] = /#\/paths\/([^/']+)/.exec(line) ?? [];
    const route = decodeURIComponent(encoded).replaceAll('~1', '/');
    assert.ok(paths[route], `${route} is not there`);
    const above = lines.slice(0, lines.indexOf(line)).findLast((each) => !each.includes('#/paths/'));
    assert.match(above ?? '', /^ +# \S/, `${route} has no reason`);
  }
});
