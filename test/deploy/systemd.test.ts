import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { readUnits } from './files.ts';

const units = readUnits();
const WHERE = '/opt/posthorn';

describe('deploy/systemd', () => {
  it('has a unit for each role, and templates for those of which there are several', () => {
    const files = units.map(({ file }) => file.replace(/^posthorn-|\.service$/g, '')).sort();
    assert.deepEqual(files, ['billing@', 'messaging@', 'migrate', 'sandbox', 'standalone', 'worker@']);
  });

  it('starts programs that are there, by the Node.js that npm ci installs', () => {
    for (const { file, options } of units) {
      assert.deepEqual(options.WorkingDirectory, [WHERE], file);
      const [node = '', entry = ''] = options.ExecStart![0]!.split(' ');
      assert.equal(node, `${WHERE}/node_modules/.bin/node`, file);
      assert.ok(existsSync(path.join(projectRoot, entry)), `${file}: ${entry}`);
    }
  });

  it('kills a role no sooner than its shutdown is over', () => {
    for (const { file, options } of units)
      if (options.Type?.[0] !== 'oneshot') assert.ok(Number(options.TimeoutStopSec) > 5 + 10, file);
  });

  it('gives no role a right, and no file to write but its own', () => {
    for (const { file, options } of units) {
      assert.deepEqual(options.User, ['posthorn'], file);
      assert.deepEqual(options.CapabilityBoundingSet, [''], file);
      assert.deepEqual(options.NoNewPrivileges, ['yes'], file);
      assert.deepEqual(options.ProtectSystem, ['strict'], file);
      assert.equal(`/var/lib/${options.StateDirectory}`, options.Environment!.at(-1)!.split('=')[1], file);
    }
  });

  it('lets ffmpeg have its own namespaces where media is converted, and nobody else', () => {
    for (const { file, options } of units) {
      const converts = file.includes('worker') || file.includes('standalone');
      assert.deepEqual(options.RestrictNamespaces, [converts ? 'user net' : 'yes'], file);
    }
  });
});
