import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { freePort, startProcess, waitFor } from '../support/process.ts';

const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-process-'));
after(() => rmSync(dir, { recursive: true }));

const program = (name: string, source: string) => {
  const entry = path.join(dir, `${name}.ts`);
  writeFileSync(entry, source);
  return entry;
};

describe('a program under test', () => {
  it('counts as started once it reports it, and starts again with another environment', async () => {
    const entry = program(
      'greet',
      `process.on('SIGTERM', () => process.exit(3)); console.log('hello ' + process.env.NAME); setInterval(() => {}, 1000);`,
    );
    const running = await startProcess({ entry, env: { NAME: 'one' }, ready: { line: /hello/ } });
    const first = running.pid();
    assert.equal(await running.kill('SIGTERM'), 3);
    await running.restart({ NAME: 'two' });
    assert.notEqual(running.pid(), first);
    assert.match(running.output(), /hello one\s+hello two/);
    assert.equal(await running.kill(), null);
  });

  it('counts as started when its URL answers', async () => {
    const port = await freePort();
    const entry = program(
      'serve',
      `import { createServer } from 'node:http';
       const since = Date.now();
       createServer((_, res) => { res.statusCode = Date.now() - since < 300 ? 503 : 200; res.end('x'); }).listen(${port}, '127.0.0.1');`,
    );
    const running = await startProcess({ entry, ready: { url: `http://127.0.0.1:${port}/ready` } });
    assert.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 200);
    await running.kill();
  });

  it('fails with its last words when it ends before it is ready', async () => {
    const entry = program('fail', `console.error('PORT is wrong'); process.exit(1);`);
    await assert.rejects(startProcess({ entry, ready: { line: /never/ } }), /ended with 1.*PORT is wrong/s);
  });

  it('is killed when it is not ready in time', async () => {
    const entry = program('slow', `console.log('pid ' + process.pid); setInterval(() => {}, 1000);`);
    const started = startProcess({ entry, ready: { line: /never/ }, timeoutMs: 10_000 });
    const error = await started.then(() => assert.fail('it started'), String);
    const pid = Number(/pid (\d+)/.exec(error)?.[1]);
    assert.ok(pid > 0, error);
    await waitFor(() => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  });

  it('sees nothing of the environment of the tests', async () => {
    process.env.LEAK_PROBE = 'leaked';
    const entry = program(
      'env',
      `console.log('env ' + process.env.LEAK_PROBE); setInterval(() => {}, 1000);`,
    );
    const running = await startProcess({ entry, ready: { line: /env/ } });
    delete process.env.LEAK_PROBE;
    assert.match(running.output(), /env undefined/);
    await running.kill();
  });
});
