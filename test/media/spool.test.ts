import assert from 'node:assert/strict';
import { access, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createShutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { startMessaging } from '@posthorn/server/messaging/start.ts';
import { testConfig } from '../support/config.ts';
import { createParts } from '../support/parts.ts';
import { freePort, startProcess, waitFor } from '../support/process.ts';

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  );

/** A folder of media with a file of hours ago, which nobody is receiving any more, and one of this moment. */
async function createSpoolFiles(t: TestContext) {
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
  return { parts, dataDir, abandoned, current };
}

test('an API without a worker on its machine removes what a killed one was receiving', async (t) => {
  const { abandoned, current, dataDir, parts } = await createSpoolFiles(t);
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

test('an API on a machine whose clock is hours behind the one of the database leaves what it is receiving', async (t) => {
  const { abandoned, current, dataDir, parts } = await createSpoolFiles(t);
  const shutdown = createShutdown({ log: parts.log, graceMs: 20_000 });
  t.after(() => shutdown.begin('the test is over'));
  const clock = { ...systemClock, now: () => new Date(Date.now() + 2 * 3_600_000) };
  await startMessaging({
    config: testConfig({ DATABASE_URL: parts.url, DATA_DIR: dataDir, PORT: '0' }),
    ...{ clock, log: parts.log, metrics: createMetrics(), shutdown },
  });
  await waitFor(async () => !(await exists(abandoned)), undefined, { what: 'the abandoned file is removed' });
  // A round that is under way ends first.
  await shutdown.begin('the round is over');
  assert.ok(await exists(current), 'an upload that may be under way');
});
