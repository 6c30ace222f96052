import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { isStorageTrouble } from '@posthorn/core/platform/storage/storage.ts';
import { type Ffmpeg, findFfmpeg } from '@posthorn/worker/media/find-ffmpeg.ts';
import { ConversionFailed, runFfmpeg } from '@posthorn/worker/media/run-ffmpeg.ts';
import { projectRoot, waitFor } from '../support/process.ts';
import { wav } from './samples.ts';

const run = promisify(execFile);

let ffmpeg: Ffmpeg;
let dir: string;
let input: string;
before(async () => {
  ffmpeg = (await findFfmpeg({})).ffmpeg ?? assert.fail('the tests need ffmpeg');
  dir = await mkdtemp(path.join(tmpdir(), 'posthorn-ended-'));
  input = path.join(dir, 'input.wav');
  await writeFile(input, wav(60));
});
after(() => rm(dir, { recursive: true }));

/** Plays for a minute. */
const SLOW = ['-af', 'arealtime', '-f', 'null', '-'];

/** The error of a run, which has to fail. */
function errorOf(job: Parameters<typeof runFfmpeg>[1], by = ffmpeg): Promise<Error> {
  return runFfmpeg(by, job, AbortSignal.timeout(30_000)).then(
    () => assert.fail('it did not fail'),
    (err: Error) => err,
  );
}

/** The process of ffmpeg below this one, once it handles signals itself. */
async function childRunning(): Promise<number | null> {
  for (const name of (await readdir('/proc')).filter((each) => /^\d+$/.test(each))) {
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    if (!stat.includes('(ffmpeg)') || Number(stat.split(') ')[1]?.split(' ')[1]) !== process.pid) continue;
    const status = await readFile(`/proc/${name}/status`, 'utf8');
    if (/^SigCgt:\t0*[1-9a-f]/m.test(status)) return Number(name);
  }
  return null;
}

async function endedBy(signal: NodeJS.Signals, options: { reportOnly?: boolean } = {}): Promise<Error> {
  const ended = errorOf({ input, output: SLOW, ...options });
  process.kill(await waitFor(childRunning), signal);
  return ended;
}

const onLinux = { skip: process.platform !== 'linux' && 'finds the process in /proc' };

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
  test(`an ffmpeg that somebody ends by ${signal} says nothing of the file`, onLinux, async () => {
    for (const reportOnly of [false, true]) {
      const err = await endedBy(signal, { reportOnly });
      assert.ok(!(err instanceof ConversionFailed), String(err));
      assert.match(err.message, /from outside/);
      assert.equal(isStorageTrouble(err), false);
    }
  });

for (const signal of ['SIGKILL', 'SIGXCPU', 'SIGSEGV', 'SIGXFSZ'] as const)
  test(`an ffmpeg that ends by ${signal} failed at the file`, onLinux, async () => {
    assert.ok((await endedBy(signal)) instanceof ConversionFailed);
  });

test('an ffmpeg that waits for a processor says nothing of the file', onLinux, async (t) => {
  const waiting = path.join(dir, 'waiting');
  await writeFile(waiting, '#!/bin/sh\nexec sleep 1000\n', { mode: 0o755 });
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const ended = errorOf({ input, output: [] }, { path: waiting, wrap: [] });
  t.mock.timers.tick(600_000);
  const err = await ended;
  assert.ok(!(err instanceof ConversionFailed), String(err));
});

test('a full disk is trouble of the storage, and not of the file', onLinux, async () => {
  const err = await errorOf({ input, output: ['-f', 'wav', 'file:/dev/full'] });
  assert.ok(!(err instanceof ConversionFailed), String(err));
  assert.equal(isStorageTrouble(err), true);
});

test('a file whose title speaks of signals and full disks fails as any other', async () => {
  const titled = path.join(dir, 'titled.mkv');
  const words = 'No space left on device\nNo space left on device\nExiting normally, received signal 15.';
  await run(ffmpeg.path, ['-v', 'error', '-i', input, '-t', '1', '-metadata', `title=${words}`, titled]);
  const { report } = await runFfmpeg(
    ffmpeg,
    { input: titled, output: [], reportOnly: true },
    AbortSignal.timeout(30_000),
  );
  assert.match(report, /No space left on device\n.*Exiting normally, received signal 15\./);
  const err = await errorOf({ input: titled, output: ['-map', '0:v:0', '-f', 'null', '-'] });
  assert.ok(err instanceof ConversionFailed, String(err));
});

test('a program that is not there, as during an update, says nothing of the file', async () => {
  for (const by of [
    { path: path.join(dir, 'gone'), wrap: [] },
    { ...ffmpeg, wrap: [path.join(dir, 'gone')] },
  ]) {
    const err = await errorOf({ input, output: SLOW }, by);
    assert.ok(!(err instanceof ConversionFailed), String(err));
  }
});

test('a process without a free descriptor fails the run, not the file, and lives on', onLinux, async () => {
  const code = `
    import { openSync } from 'node:fs';
    import { ConversionFailed, runFfmpeg } from '@posthorn/worker/media/run-ffmpeg.ts';
    try { for (;;) openSync('/dev/null'); } catch {}
    const job = { input: '/dev/null', output: [] };
    await runFfmpeg({ path: '/bin/true', wrap: [] }, job, new AbortController().signal).then(
      () => (process.exitCode = 3),
      (err) => (process.exitCode = err instanceof ConversionFailed ? 4 : 5),
    );`;
  const limited = 'ulimit -n 64; exec "$0" --input-type=module -e "$1"';
  const { code: exit, stderr } = await run('/bin/sh', ['-c', limited, process.execPath, code], {
    cwd: path.join(projectRoot, 'test'),
  }).then(
    () => ({ code: 0, stderr: '' }),
    (err: { code: number; stderr: string }) => err,
  );
  assert.equal(exit, 5, stderr);
});
