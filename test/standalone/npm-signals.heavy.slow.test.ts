import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createTestDatabase } from '../support/postgres.ts';
import { baseEnv, freePort, projectRoot, waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { reap } from '../support/reaper.ts';

const { scripts } = JSON.parse(readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

/** Each script that runs a service, the setting of the port that shows whether it runs, and its address. */
const SERVICES: Record<string, { port: string; ready: string }> = {
  start: { port: 'PORT', ready: '/ready' },
  messaging: { port: 'PORT', ready: '/ready' },
  billing: { port: 'BILLING_PORT', ready: '/ready' },
  worker: { port: 'WORKER_PORT', ready: '/ready' },
  sandbox: { port: 'SANDBOX_PORT', ready: '/health' },
};
/** Scripts that run to their end: they are no services, and nobody stops them by a signal to npm. */
const TOOLS = new Set([
  'check',
  'types',
  'lint',
  'format',
  'openapi',
  'openapi:publish',
  'prepare',
  'settings',
  'test',
  'test:slow',
  'test:faults',
  'bench',
  'release:version',
  'release:pack',
  'whatsapp:install',
]);

describe('a service that npm runs', () => {
  let env: Record<string, string>;
  let dropDatabase: () => Promise<void>;
  const dirs: string[] = [];
  before(async () => {
    const database = await createTestDatabase();
    dropDatabase = database.drop;
    const ports = ['PORT', 'BILLING_PORT', 'SANDBOX_PORT', 'WORKER_PORT'];
    env = {
      NODE_ENV: 'test',
      LOG_LEVEL: 'info',
      DATABASE_URL: database.url,
      AMQP_URL: (await createTestVhost()).url,
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      ENCRYPTION_KEY: '5a'.repeat(32),
      ...Object.fromEntries(await Promise.all(ports.map(async (name) => [name, String(await freePort())]))),
    };
  });
  after(async () => {
    await dropDatabase();
    for (const dir of dirs) {
      const database = path.join(dir, 'postgres');
      // The database is outside of it where only root may enter the temp folder.
      if (existsSync(database)) rmSync(realpathSync(database), { recursive: true });
      rmSync(dir, { recursive: true });
    }
  });

  /** Runs a script as an operator does, and returns npm's own process once the service answers. */
  async function startByNpm(script: string): Promise<{ npm: ChildProcess; output: () => string }> {
    const { port, ready } = SERVICES[script]!;
    const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-npm-'));
    dirs.push(dir);
    const { DATABASE_URL, AMQP_URL, ...rest } = env;
    const own = script === 'start' ? rest : { ...rest, DATABASE_URL, AMQP_URL };
    const npm = spawn('npm', ['run', '--silent', script], {
      cwd: projectRoot,
      env: { ...baseEnv(), ...own, DATA_DIR: dir } as Record<string, string>,
      // A group of its own, like the one that a terminal makes for a typed command.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    npm.once('exit', reap({ pid: -npm.pid! }));
    let output = '';
    for (const stream of [npm.stdout, npm.stderr]) stream?.on('data', (chunk) => (output += chunk));
    const answers = () => fetch(`http://127.0.0.1:${env[port]}${ready}`).then(({ ok }) => ok);
    await waitFor(async () => npm.exitCode !== null || (await answers()), 90_000).catch((cause) => {
      throw new Error(`npm run ${script} does not answer:\n${output}`, { cause });
    });
    assert.equal(npm.exitCode, null, output);
    return { npm, output: () => output };
  }

  async function assertGone(script: string, output: string): Promise<void> {
    const port = Number(env[SERVICES[script]!.port]);
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' }, output);
    assert.match(output, /"msg":"draining"/);
    assert.match(output, /"msg":"closed"/);
  }

  for (const script of Object.keys(SERVICES)) {
    it(`npm run ${script}: SIGTERM to npm reaches the service, which drains and is gone when npm is`, async () => {
      const { npm, output } = await startByNpm(script);
      const exit = once(npm, 'exit');
      npm.kill('SIGTERM');
      const [code] = await exit;
      assert.equal(code, 0, output());
      await assertGone(script, output());
    });

    it(`npm run ${script}: one Ctrl-C, which arrives twice, still drains it`, async () => {
      const { npm, output } = await startByNpm(script);
      const exit = once(npm, 'exit');
      process.kill(-npm.pid!, 'SIGINT');
      const [code] = await exit;
      assert.equal(code, 0, output());
      await assertGone(script, output());
    });
  }

  it('every script is one of these, or a tool; scripts that run a process of ours replace the shell', () => {
    for (const [name, command] of Object.entries(scripts)) {
      if (TOOLS.has(name)) continue;
      assert.ok(name in SERVICES || name === 'migrate' || name === 'admin', `${name} is known here`);
      assert.match(command, /^exec node \S+$/, `${name}: a shell in between would keep the signals`);
    }
  });
});
