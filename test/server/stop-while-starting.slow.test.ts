import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { listen } from '../support/listen.ts';
import { baseEnv, projectRoot } from '../support/process.ts';

for (const entry of ['worker/main.ts', 'server/messaging/main.ts', 'server/billing/main.ts'])
  test(`${entry}: SIGTERM while it starts is an orderly end, exit code 0`, async (t) => {
    const sockets: Socket[] = [];
    // A database that takes the connection and says nothing, so that the start stands still.
    const silent = createServer((socket) => {
      socket.on('error', () => undefined);
      sockets.push(socket);
    });
    const url = `postgres://x:x@127.0.0.1:${await listen(silent)}/x`;
    const child = spawn(process.execPath, [entry], {
      cwd: projectRoot,
      env: {
        ...baseEnv(),
        NODE_ENV: 'test',
        LOG_LEVEL: 'error',
        DATABASE_URL: url,
        BILLING_DATABASE_URL: url,
        AMQP_URL: 'amqp://127.0.0.1:1',
        JWT_SECRET: 'a secret of the tests, long enough for HS256',
        ENCRYPTION_KEY: '5a'.repeat(32),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    t.after(() => {
      child.kill('SIGKILL');
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const said = text(child.stderr);
    await once(silent, 'connection');
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    assert.equal(code, 0, await said);
    assert.equal(await said, '');
  });
