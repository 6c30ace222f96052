import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextSteps } from '@posthorn/cli/mcp/next-steps.ts';
import type { Tool } from '@posthorn/cli/mcp/tool.ts';

test('a list continues in the requested direction', () => {
  const tool = { isReading: true, query: ['after', 'before', 'limit'] } as unknown as Tool;
  const page = { data: [], next_cursor: '1-2-3' };
  assert.deepEqual(nextSteps(tool, page), ['There is more: call again with before 1-2-3.'], 'newest first');
  assert.deepEqual(nextSteps(tool, page, { after: '0-0-1' }), [
    'There is more: call again with after 1-2-3.',
  ]);
  assert.deepEqual(nextSteps(tool, { notes: [], next_before: 7 }), [
    'There is more: call again with before 7.',
  ]);
  assert.deepEqual(nextSteps(tool, { data: [], next_cursor: null }), []);
});
