import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiError } from '@posthorn/contract/api-error.ts';
import { createTypeDetector } from '@posthorn/core/media/type-detector.ts';
import { assertUnhurt, probeWhile } from '../support/probe.ts';
import { png } from './samples.ts';
import { type MediaServer, startMediaServer } from './support.ts';

let media: MediaServer;
let dir: string;
before(async () => {
  media = await startMediaServer();
  dir = await mkdtemp(path.join(tmpdir(), 'posthorn-types-'));
});
after(async () => {
  await media.close();
  await rm(dir, { recursive: true, force: true, maxRetries: 10 });
});

describe('a file that leads its parser astray', () => {
  test('costs its own type and a moment, and nobody else anything', async () => {
    const bombs = ['<!-- -->', '<!---->', '<!doctype svg>', '<?xml ?>', ' '].map((part) =>
      Buffer.from(`${part.repeat(Math.floor(4_000 / part.length))}<`),
    );
    const target = { url: `${media.url}/v1/instances`, expect: 401 };
    const { probed } = await probeWhile(target, async () => {
      const answers = await Promise.all(bombs.map((bomb) => media.upload(bomb, { name: 'a.svg' })));
      for (const { status, body } of answers) {
        assert.equal(status, 201);
        assert.match(body.mime_type, /^(text\/plain|application\/xml)$/, 'it is no picture');
      }
      assert.equal((await media.upload(await png())).status, 201);
    });
    assertUnhurt(probed, 'files that lead the type detection astray');
  });
});

describe('the type detector', () => {
  test('ends a thread that hangs or dies, and continues with the next', async () => {
    const entry = path.join(dir, 'thread.mjs');
    await writeFile(
      entry,
      `import { parentPort } from 'node:worker_threads';
       parentPort.on('message', ({ path }) => {
         if (path === 'hang') for (;;);
         if (path === 'die') process.exit(1);
         if (path === 'throw') throw new Error('out of the handler');
         parentPort.postMessage({ type: { mimeType: path, animated: false } });
       });
       parentPort.postMessage({});`,
    );
    const detector = createTypeDetector({ limitMs: 3_000, entry: new URL(`file://${entry}`) });
    const paths = ['a', 'hang', 'b', 'hang', 'die', 'c', 'hang', 'throw', 'd', 'hang', 'e'];
    const types = await Promise.all(paths.map((each) => detector.detect({ path: each, declared: '' }, 1)));
    assert.deepEqual(
      types.map(({ mimeType }) => mimeType),
      paths.map((each) => (each.length === 1 ? each : 'application/octet-stream')),
    );
    await detector.close();
  });

  test('fails a file when its thread does not start, as below a removed package, and the next one with the next', async () => {
    const entry = new URL("data:text/javascript,throw new Error('no such package')");
    const detector = createTypeDetector({ entry });
    const files = ['a', 'b', 'c'].map((each) => detector.detect({ path: each, declared: '' }, 1));
    for (const answer of await Promise.allSettled(files)) {
      assert.equal(answer.status, 'rejected');
      assert.match(answer.reason.message, /types of files cannot be detected/);
      assert.match(answer.reason.cause.message, /no such package/);
    }
    await detector.close();
  });

  test('lets a company wait for none but the files that others have in its threads', async () => {
    const entry = path.join(dir, 'misled.mjs');
    await writeFile(
      entry,
      `import { parentPort } from 'node:worker_threads';
       parentPort.on('message', ({ path }) => {
         if (path === 'hang') for (;;);
         parentPort.postMessage({ type: { mimeType: path, animated: false } });
       });
       parentPort.postMessage({});`,
    );
    const detector = createTypeDetector({ limitMs: 1_000, entry: new URL(`file://${entry}`) });
    let ended = 0;
    const misled = Array.from({ length: 8 }, async () => {
      await detector.detect({ path: 'hang', declared: '' }, 1);
      ended += 1;
    });
    // By then both threads have one.
    await delay(500);
    await detector.detect({ path: 'picture', declared: '' }, 2);
    assert.ok(ended <= 2, `${ended} files of another company came first`);
    await detector.close();
    await Promise.allSettled(misled);
  });

  test('gives a thread time on a busy machine, and reports one that waits too long', async () => {
    const entry = path.join(dir, 'starved.mjs');
    await writeFile(
      entry,
      `import { readlinkSync } from 'node:fs';
       import { parentPort } from 'node:worker_threads';
       const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
       parentPort.on('message', ({ path }) => {
         if (path === 'hang') for (;;);
         wait(Number(path));
         parentPort.postMessage({ type: { mimeType: path, animated: false } });
       });
       parentPort.postMessage({ tid: readlinkSync('/proc/thread-self').split('/').at(-1) });`,
    );
    const detector = createTypeDetector({ limitMs: 500, entry: new URL(`file://${entry}`) });
    const detect = (each: string) =>
      detector.detect({ path: each, declared: '' }, 1).then(
        ({ mimeType }) => mimeType,
        (err: ApiError) => err.code,
      );
    const paths = ['1500', 'hang', '60000', '1500'];
    assert.deepEqual(await Promise.all(paths.map(detect)), [
      '1500',
      'application/octet-stream',
      'SERVICE_UNAVAILABLE',
      '1500',
    ]);
    await detector.close();
  });
});
