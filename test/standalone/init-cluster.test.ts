import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { initCluster } from '@posthorn/standalone/src/embedded-postgres/init-cluster.ts';

it('a database that cannot be made is told with the reason, not with what initdb says after it', async (t) => {
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-initdb-'));
  t.after(() => rmSync(dir, { recursive: true }));
  mkdirSync(path.join(dir, 'bin'));
  const initdb = path.join(dir, 'bin', 'initdb');
  const said = [
    'initdb: error: could not write file: No space left on device',
    'initdb: removing contents of data directory',
  ];
  writeFileSync(initdb, `#!/bin/sh\n${said.map((line) => `echo '${line}' >&2`).join('\n')}\nexit 1\n`);
  chmodSync(initdb, 0o755);
  const directory = { dir, data: path.join(dir, 'data'), user: {}, leftBehind: [] };
  await assert.rejects(initCluster(directory, dir, 'secret'), {
    name: 'StartError',
    message: 'the database could not be made: initdb: error: could not write file: No space left on device',
  });
});
