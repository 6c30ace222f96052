import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, describe, it } from 'node:test';
import { runInNewContext } from 'node:vm';
import { tellFigure } from '@posthorn/test/support/figures.ts';
import { createParts } from '@posthorn/test/support/parts.ts';
import { createTestDatabase } from '@posthorn/test/support/postgres.ts';
import {
  baseEnv,
  freePort,
  projectRoot,
  type RunningProcess,
  startProcess,
  waitFor,
} from '@posthorn/test/support/process.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';
import { isOfSlowMachine } from './slow-machine.ts';

const READY_LINE = /is ready after/;

/** The memory of the process itself, without its database. */
function memoryMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}

describe('npm start', () => {
  const dirs: string[] = [];
  const running: RunningProcess[] = [];
  afterEach(async () => {
    for (const process of running.splice(0)) await process.kill('SIGTERM');
  });
  after(() => {
    for (const dir of dirs) {
      const database = path.join(dir, '.data', 'postgres');
      // The database is outside of it where only root may enter the temp folder.
      if (existsSync(database)) rmSync(realpathSync(database), { recursive: true });
      rmSync(dir, { recursive: true });
    }
  });

  async function freshEnv(): Promise<Record<string, string>> {
    const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-start-'));
    dirs.push(dir);
    return {
      DATA_DIR: path.join(dir, '.data'),
      PORT: String(await freePort()),
      SANDBOX_PORT: String(await freePort()),
      BILLING_PORT: String(await freePort()),
    };
  }

  async function start(env: Record<string, string>): Promise<RunningProcess> {
    const process = await startProcess({ entry: 'standalone/main.js', env, ready: { line: READY_LINE } });
    running.push(process);
    return process;
  }

  /** A start that should fail: its exit code and its output. */
  async function failToStart(env: Record<string, string>) {
    const child = spawn(process.execPath, ['standalone/main.js'], {
      cwd: projectRoot,
      env: { ...baseEnv(), ...env },
    });
    const [code, out, err] = await Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
    return { code: code[0], out, err };
  }

  const urlOf = (env: Record<string, string>) => `http://127.0.0.1:${env.PORT}`;

  async function register(env: Record<string, string>): Promise<string> {
    const answer = await fetch(`${urlOf(env)}/v1/auth/quick-register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'owner@example.com' }),
    });
    assert.equal(answer.status, 201);
    return ((await answer.json()) as { api_key: string }).api_key;
  }

  async function listInstances(env: Record<string, string>, key: string): Promise<number> {
    const answer = await fetch(`${urlOf(env)}/v1/instances`, { headers: { 'x-api-key': key } });
    await answer.body?.cancel();
    return answer.status;
  }

  it('answers, keeps its data over a stop, a kill and two more starts, and stops with its database', async () => {
    const env = await freshEnv();
    const server = await start(env);
    assert.match(server.output(), new RegExp(`API +http://127\\.0\\.0\\.1:${env.PORT}`));
    assert.match(server.output(), new RegExp(`billing +http://127\\.0\\.0\\.1:${env.BILLING_PORT}`));
    assert.match(server.output(), new RegExp(`network +http://127\\.0\\.0\\.1:${env.SANDBOX_PORT}`));
    assert.match(server.output(), /npx msgctl /);
    const key = await register(env);
    assert.equal((await fetch(`http://127.0.0.1:${env.BILLING_PORT}/ready`)).status, 200);
    const pidFile = path.join(env.DATA_DIR!, 'postgres', 'data', 'postmaster.pid');
    assert.ok(existsSync(pidFile));
    assert.equal(await server.kill('SIGTERM'), 0);
    assert.ok(!existsSync(pidFile), 'the database is stopped in order');

    await server.restart();
    assert.equal(await listInstances(env, key), 200);
    tellFigure('npm start before the first session', memoryMb(server.pid()), { atMost: 160 }, 'MB');
    await server.kill('SIGKILL');
    assert.ok(existsSync(pidFile), 'the database outlives a kill');

    await server.restart();
    assert.equal(await listInstances(env, key), 200);
    await waitFor(async () => (await fetch(`${urlOf(env)}/ready`)).ok);
    // As Ctrl-C in a terminal.
    assert.equal(await server.kill('SIGINT'), 0);
    assert.ok(!existsSync(pidFile));
    // The log has only one line: the place of the mail.
    const logged = server
      .output()
      .split('\n')
      .filter((line) => line.includes('"level"') && !isOfSlowMachine(line));
    assert.ok(
      logged.length > 0 && logged.every((line) => line.includes('mail written to a file')),
      logged.join('\n'),
    );
    assert.doesNotMatch(server.output(), /DeprecationWarning|ExperimentalWarning/);
  });

  it('uses the database that DATABASE_URL names and none of its own, and mails into DATA_DIR/mail', async () => {
    const database = await createTestDatabase();
    const env: Record<string, string> = { ...(await freshEnv()), DATABASE_URL: database.url };
    const server = await start(env);
    const key = await register(env);
    assert.equal(await listInstances(env, key), 200);
    assert.ok(!existsSync(path.join(env.DATA_DIR!, 'postgres')));
    const mail = path.join(env.DATA_DIR!, 'mail');
    await waitFor(() => existsSync(mail) && readdirSync(mail).some((name) => name.endsWith('.eml')));
    assert.equal(await server.kill('SIGTERM'), 0);
    await database.drop();
  });

  it('ends with a reason when its database dies under it', async () => {
    const env = await freshEnv();
    const server = await start(env);
    const pidFile = path.join(env.DATA_DIR!, 'postgres', 'data', 'postmaster.pid');
    process.kill(Number(readFileSync(pidFile, 'utf8').split('\n')[0]), 'SIGKILL');
    await waitFor(() =>
      /posthorn: PostgreSQL ended unexpectedly \(SIGKILL\), see \S+postgres\.log/.test(server.output()),
    );
    await waitFor(() => {
      try {
        return !process.kill(server.pid(), 0);
      } catch {
        return true;
      }
    });
    assert.equal(await server.kill(), 1);
    await server.restart();
  });

  it('reports in one line that another start uses the same DATA_DIR', async () => {
    const env = await freshEnv();
    await start(env);
    const { code, err } = await failToStart(env);
    assert.equal(code, 1);
    assert.match(
      err,
      /^posthorn: another start already runs on DATA_DIR \S+ \(its process is named in \S+\)\n$/,
    );
  });

  for (const name of ['PORT', 'BILLING_PORT', 'SANDBOX_PORT'])
    it(`names ${name} in one line when it is in use, and makes no database first`, async () => {
      const env = await freshEnv();
      const taken = createServer().listen(Number(env[name]), '127.0.0.1');
      await once(taken, 'listening');
      const { code, err } = await failToStart(env);
      taken.close();
      assert.equal(code, 1);
      assert.equal(
        err,
        `posthorn: port ${env[name]} is in use: stop what listens there, or set ${name} to another one\n`,
      );
      assert.ok(!existsSync(path.join(env.DATA_DIR!, 'secrets.json')));
    });

  it('draws no new secrets for a database of DATABASE_URL that lost ones sealed', async () => {
    const parts = await createParts();
    const { companyId } = await seedCompany(parts.db);
    const instanceId = await seedInstance(parts.db, companyId, { state: 'CREATED', wanted: 'disconnected' });
    await parts.db.query(`UPDATE instances SET credentials = '\\x00' WHERE id = $1`, [instanceId]);
    const env = await freshEnv();
    const { code, err } = await failToStart({ ...env, DATABASE_URL: parts.url });
    await parts.close();
    assert.equal(code, 1);
    assert.match(err, /^posthorn: \S+secrets\.json is not there, .* set ENCRYPTION_KEY and JWT_SECRET .*\n$/);
    assert.ok(!existsSync(path.join(env.DATA_DIR!, 'secrets.json')));
  });

  it('names a wrong setting in one line before anything is started', async () => {
    const env = await freshEnv();
    const { code, err } = await failToStart({ ...env, SMTP_URL: 'not a url' });
    assert.equal(code, 1);
    assert.match(err, /^posthorn: SMTP_URL: .+\n$/);
    assert.ok(!existsSync(env.DATA_DIR!));
  });
});

describe('the version check of npm start', () => {
  let source: string;
  before(() => {
    source = readFileSync(path.join(projectRoot, 'standalone/main.js'), 'utf8');
  });

  it('reports in one line that an old Node is too old', () => {
    for (const [version, isTooOld] of [
      ['18.20.8', true],
      ['20.20.2', true],
      ['22.17.1', true],
      ['22.18.0', false],
      ['24.21.0', false],
    ] as const) {
      const said: string[] = [];
      const fake = {
        versions: { node: version },
        exitCode: 0,
        getBuiltinModule: () => ({ enableCompileCache() {} }),
      };
      let imports = 0;
      const script = source.replace('import(', 'load(');
      runInNewContext(script, {
        process: fake,
        __dirname: '',
        console: { error: (line: string) => said.push(line) },
        load: () => {
          imports += 1;
        },
      });
      assert.equal(fake.exitCode, isTooOld ? 1 : 0, version);
      assert.equal(imports, isTooOld ? 0 : 1, version);
      assert.equal(said.length, isTooOld ? 1 : 0, version);
      if (isTooOld) assert.match(said[0]!, /^posthorn: needs Node\.js 22\.18 or newer, this is [^\n]+$/);
    }
  });

  it('can be read by one: no import, no type syntax, and a package without "type"', () => {
    const { type } = JSON.parse(readFileSync(path.join(projectRoot, 'standalone/package.json'), 'utf8'));
    assert.equal(type, undefined);
    assert.doesNotMatch(source, /^\s*(import\s|export\s)/m);
  });
});
