import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { projectRoot } from '../support/process.ts';

const mainOf = (name: string) => `
import { runMain } from '@posthorn/core/platform/run-main.ts';
await runMain('${name}', async () => {
  const message = 'terminating connection due to administrator command';
  throw Object.assign(new Error(message), { code: '57P01' });
});`;

function run(name: string) {
  return spawnSync(process.execPath, ['--input-type=module', '-e', mainOf(name)], {
    cwd: projectRoot,
    encoding: 'utf8',
  });
}

test('a start whose connection the database ended says who may have asked for it, and ends with 1', () => {
  const { status, stderr } = run('worker');
  assert.equal(status, 1, stderr);
  assert.match(
    stderr,
    /^worker: the database ended a connection of this process \(.*\): it stops, or another worker took this one for dead/,
  );
});

test('no worker takes an operator’s command for dead: run again, it goes on', () => {
  const { status, stderr } = run('admin');
  assert.equal(status, 1, stderr);
  assert.match(
    stderr,
    /^admin: the database ended a connection of this process \(.*\): it stops, or somebody .*: run it again\n$/,
  );
});
