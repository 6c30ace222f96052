import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { baseEnv, freePort, projectRoot, waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';

const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-sample-'));
after(() => rmSync(dir, { recursive: true }));

interface Outcome {
  code: number;
  output: string;
  lastLine: string;
}

/** Runs the runner on one made-up file, which starts no servers unless it asks for them. */
function runSample(
  source: string,
  { name = 'sample.test.ts', args = [] as string[], env = {} as Record<string, string> } = {},
): Promise<Outcome> {
  const file = path.join(dir, name);
  writeFileSync(file, `import { describe, it, before, after } from 'node:test';\n${source}`);
  return new Promise((resolve) => {
    const all = ['test/support/run-tests.ts', ...args, file];
    const options = { cwd: projectRoot, env: { ...baseEnv(), ...env } };
    execFile(process.execPath, all, options, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      resolve({ code: Number(error?.code ?? 0), output, lastLine: stdout.trim().split('\n').at(-1) ?? '' });
    });
  });
}

/** For a sample that asks for a broker. */
const RABBITMQ = JSON.stringify(path.join(projectRoot, 'test/support/rabbitmq.ts'));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('npm test', () => {
  it('is green when every test passes, with the summary of Node above its own', async () => {
    const { code, output, lastLine } = await runSample("it('a', () => {}); it('b', () => {});");
    assert.equal(lastLine, '2 passed, 0 failed, 0 skipped');
    assert.equal(code, 0);
    assert.match(output, /ℹ pass 2/);
  });

  it('is red when a test fails', async () => {
    const { code, lastLine } = await runSample(
      "it('a', () => {}); it('b', () => { throw new Error('no'); });",
    );
    assert.equal(lastLine, '1 passed, 1 failed, 0 skipped');
    assert.equal(code, 1);
  });

  it('is red when a test is skipped or still to be written', async () => {
    const { code, lastLine } = await runSample("it('a', () => {}); it.skip('b', () => {}); it.todo('c');");
    assert.equal(lastLine, '1 passed, 0 failed, 2 skipped');
    assert.equal(code, 1);
  });

  it('refuses a part of the slow files that there is not', async () => {
    for (const part of ['4/3', '0/3', '1.5/3', 'half']) {
      const { code, output } = await runSample("it('a', () => {});", { args: ['--slow-part', part] });
      assert.equal(code, 1, part);
      assert.match(output, /--slow-part is of the form 2\/3/);
    }
  });

  it('is red when cleaning up fails after the tests have passed', async () => {
    const { code, lastLine } = await runSample(
      "describe('s', () => { it('a', () => {}); after(() => { throw new Error('no'); }); });",
    );
    assert.equal(lastLine, '1 passed, 1 failed, 0 skipped');
    assert.equal(code, 1);
  });

  it('is red when an answer of ours contradicts the OpenAPI documents, though every test passes', async () => {
    const { code, output } = await runSample(`
      import { createServer } from 'node:http';
      it('a', async () => {
        const headers = { 'x-trace-id': '0198c0de-0000-7000-8000-000000000001', 'x-content-type-options': 'nosniff' };
        const server = createServer((_, res) => res.writeHead(418, headers).end()).listen(0, '127.0.0.1');
        await new Promise((resolve) => server.once('listening', resolve));
        await fetch('http://127.0.0.1:' + server.address().port + '/health');
        server.closeAllConnections();
        server.close();
      });`);
    assert.match(output, /GET \/health -> 418: health.health answered 418, which is not documented/);
    assert.equal(code, 1);
  });

  it('takes its files along when it is ended', async () => {
    const pidFile = path.join(dir, 'pid');
    const file = path.join(dir, 'endless.test.ts');
    writeFileSync(
      file,
      `import { writeFileSync } from 'node:fs';
       import { it } from 'node:test';
       it('a', () => {
         writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
         return new Promise(() => setInterval(() => {}, 1_000));
       });`,
    );
    const args = ['test/support/run-tests.ts', file];
    const runner = spawn(process.execPath, args, { cwd: projectRoot, env: baseEnv() });
    const ended = once(runner, 'exit');
    const pid = await waitFor(() => existsSync(pidFile) && Number(readFileSync(pidFile, 'utf8')), 120_000);
    runner.kill('SIGTERM');
    assert.deepEqual(await ended, [130, null]);
    await waitFor(() => !isAlive(pid));
  });

  it('is red when a file cannot be read', async () => {
    const { code } = await runSample('this is no TypeScript');
    assert.equal(code, 1);
  });

  it('is red when no file matches', async () => {
    const { code, output } = await runSample('', { name: 'sample.ts' });
    assert.match(output, /no test file matches/);
    assert.equal(code, 1);
  });

  for (const [where, source] of [
    ['a test', "it('hangs', () => new Promise(() => {}));"],
    ['a test of a suite', "describe('s', () => { it('hangs', () => new Promise(() => {})); });"],
    ['a hook', "describe('s', () => { before(() => new Promise(() => {})); it('hangs', () => {}); });"],
    // Like a connection that nobody closes: without it the process would end by itself.
    [
      'a test that leaves something open',
      "it('hangs', () => new Promise(() => setInterval(() => {}, 1_000)));",
    ],
  ] as const)
    it(`ends ${where} that hangs, and continues with the next`, async () => {
      const since = performance.now();
      const { code, output, lastLine } = await runSample(`${source} it('passes', () => {});`, {
        args: ['--limit', '2'],
      });
      assert.equal(code, 1);
      assert.match(output, /timed out after 2000ms/);
      assert.match(output, /✔ passes/);
      assert.match(lastLine, /^1 passed, [12] failed, 0 skipped$/);
      assert.ok(performance.now() - since < 30_000, 'it took as long as the limit of a file');
    });

  it('ends a file whose tests all hang, and continues with the next', async () => {
    const since = performance.now();
    const hanging = Array.from(
      { length: 30 },
      (_, nth) => `it('hangs ${nth}', () => new Promise(() => {}));`,
    );
    const { code, output } = await runSample(hanging.join('\n'), { args: ['--limit', '2'] });
    assert.equal(code, 1);
    assert.match(output, /sample.test.ts still runs after 6 s/);
    assert.ok(performance.now() - since < 30_000, 'it took as long as the limits of all its tests');
  });

  it('starts no server for a file that asks for none', async () => {
    const { code, output } = await runSample("it('a', () => {});");
    assert.equal(code, 0);
    assert.doesNotMatch(output, /ready after/);
  });

  it('is red, with one line of why, when the broker it was given is not there', async () => {
    const env = { AMQP_URL: `amqp://127.0.0.1:${await freePort()}` };
    const source = `import { createTestVhost } from ${RABBITMQ}; it('a', () => createTestVhost());`;
    const { code, output } = await runSample(source, { env });
    assert.match(output, /^no RabbitMQ answers at AMQP_URL$/m);
    assert.equal(code, 1);
  });

  it('hides the real services of the shell from the programs under test, and gives the broker to files that ask', async () => {
    const { url } = await createTestVhost();
    const { code, output } = await runSample(
      `import { createTestVhost } from ${RABBITMQ};
       it('a', async () => {
         if (process.env.AMQP_URL || process.env.DATABASE_URL) throw new Error('leak');
         if ((await createTestVhost()).url !== ${JSON.stringify(url)}) throw new Error('another broker');
       });`,
      { env: { AMQP_URL: url, DATABASE_URL: 'postgres://127.0.0.1/real' } },
    );
    assert.equal(code, 0, output);
  });
});
