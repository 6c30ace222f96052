import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { projectRoot } from '../support/process.ts';

const MAIN = `
import { runMain } from '@posthorn/core/platform/run-main.ts';
await runMain('worker', async () => {
  const message = 'terminating connection due to administrator command';
  throw Object.assign(new Error(message), { code: '57P01' });
});`;

test('a start whose connection the database ended says who may have asked for it, and ends with 1', () => {
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', MAIN], {
    cwd: projectRoot,
    encoding: 'utf8',
  });
  assert.equal(status, 1, stderr);
  assert.match(
    stderr,
    /^worker: the database ended a connection of this start \(.*\): it stops, or another worker took this one for dead/,
  );
});
