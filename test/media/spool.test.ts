import assert from 'node:assert/strict';
import { access, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createParts } from '../support/parts.ts';
import { freePort, startProcess, waitFor } from '../support/process.ts';

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

test('an API without a worker on its machine removes what a killed one was receiving', async (t) => {
  const parts = await createParts();
  t.after(() => parts.close());
  const dataDir = await mkdtemp(path.join(tmpdir(), 'posthorn-spool-'));
  t.after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 10 }));
  const spool = path.join(dataDir, 'media', '.spool');
  await mkdir(spool, { recursive: true });
  const [abandoned, current] = [path.join(spool, 'abandoned'), path.join(spool, 'current')];
  await Promise.all([writeFile(abandoned, 'x'), writeFile(current, 'x')]);
  const hoursAgo = new Date(Date.now() - 7_200_000);
  await utimes(abandoned, hoursAgo, hoursAgo);
  const port = await freePort();
  const running = await startProcess({
    entry: 'server/messaging/main.ts',
    env: {
      NODE_ENV: 'test',
      DATABASE_URL: parts.url,
      AMQP_URL: 'amqp://127.0.0.1:1',
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      ENCRYPTION_KEY: '5a'.repeat(32),
      DATA_DIR: dataDir,
      PORT: String(port),
    },
    ready: { url: `http://127.0.0.1:${port}/ready` },
  });
  t.after(() => running.kill('SIGTERM'));
  await waitFor(async () => !(await exists(abandoned)), undefined, { what: 'the abandoned file is removed' });
  assert.ok(await exists(current), 'an upload that may be under way');
});
