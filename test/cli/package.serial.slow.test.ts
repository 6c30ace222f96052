import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { tellFigure } from '../support/figures.ts';
import { baseEnv, projectRoot } from '../support/process.ts';
import { openTerminal } from '../support/tmux.ts';
import { type BundledPackages, bundledPackages } from './bundled-packages.ts';

const run = promisify(execFile);
const env = { ...baseEnv(), PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` };

describe('the packed msgctl', { timeout: 240_000 }, () => {
  let folder: string;
  let server: HttpServer;
  let program: string;
  let bundled: BundledPackages;
  const root = () => path.join(folder, 'node_modules/@posthorn/cli');

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-msgctl-'));
    const packed = path.join(folder, 'packed');
    mkdirSync(packed);
    const metafile = path.join(folder, 'metafile.json');
    await run(process.execPath, ['cli/build.ts', '--metafile', metafile], { cwd: projectRoot, env });
    bundled = bundledPackages(metafile);
    await run('npm', ['pack', './cli/dist', '--pack-destination', packed], { cwd: projectRoot, env });
    const [tarball] = readdirSync(packed);
    writeFileSync(path.join(folder, 'package.json'), '{"name":"user","private":true}');
    const file = path.join(packed, tarball as string);
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', file], { cwd: folder, env });
    program = path.join(folder, 'node_modules/.bin/msgctl');
    tellFigure('msgctl, packed', statSync(file).size / 1_000, { atMost: 200 }, 'kB');
    server = await startHttp((res, { url }) =>
      url.startsWith('/v1/instances')
        ? json(res, 200, { data: [], total: 0, page: 1, limit: 50 })
        : json(res, 202, { message_id: 'm' }),
    );
  });
  after(async () => {
    await server?.close();
    rmSync(folder, { recursive: true });
  });

  /** This Node, and the other ones on PATH, by version. */
  const found = execFileSync('which', ['-a', 'node'], { encoding: 'utf8' }).trim().split('\n');
  const nodes = new Map(
    [process.execPath, ...found].map((at) => [execFileSync(at, ['--version']).toString().trim(), at]),
  );

  for (const [version, node] of nodes) {
    test(`runs from an empty folder on Node ${version}`, async () => {
      const msgctl = (...args: string[]) =>
        run(node, [program, ...args], {
          cwd: folder,
          env: { ...env, HOME: folder, POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' },
        });
      const manifest = JSON.parse(readFileSync(path.join(root(), 'package.json'), 'utf8'));
      assert.equal((await msgctl('--version')).stdout, `${manifest.version}\n`);
      assert.match((await msgctl('--help')).stdout, /scheduled/);
      assert.equal((await msgctl('instances', 'list')).stdout, 'no instances\n');
      assert.match(
        server.seen.at(-1)?.headers['user-agent'] ?? '',
        /^msgctl\/\d+\.\d+\.\d+ posthorn-sdk\/\d/,
      );
      const failed = await msgctl('api', 'GET', '/v1/instnces').catch((error) => error);
      assert.equal(failed.code, 2);
      assert.match(failed.stderr, /did you mean \/v1\/instances/);
    });
  }

  for (const [version, node] of nodes) {
    test(`draws its views in a terminal on Node ${version}`, async (t) => {
      const keys = { HOME: folder, POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' };
      const terminal = await openTerminal({ cwd: folder, env: keys });
      t.after(() => terminal.close());
      terminal.enter(`clear; ${node} ${program} instances watch; echo code=$?`);
      await terminal.shows(/Instances \(0\)/);
      terminal.press('C-c');
      await terminal.shows(/^code=0/m);
      assert.deepEqual(terminal.modes(), { isCursorShown: true, isAlternate: false });
    });
  }

  test('has no dependencies, and nothing of the machine that it was built on', () => {
    assert.deepEqual(readdirSync(path.join(folder, 'node_modules/@posthorn')), ['cli']);
    const manifest = JSON.parse(readFileSync(path.join(root(), 'package.json'), 'utf8'));
    assert.equal(manifest.dependencies, undefined);
    for (const file of readdirSync(root())) {
      assert.ok(!readFileSync(path.join(root(), file), 'utf8').includes(projectRoot), file);
    }
    for (const file of ['LICENSE', 'README.md', 'CHANGELOG.md'])
      assert.ok(statSync(path.join(root(), file)).size);
  });

  test('brings the licence of every package that is in it, and of no other', () => {
    const notices = readFileSync(path.join(root(), 'THIRD-PARTY-NOTICES'), 'utf8');
    const parts = notices.split(`\n${'-'.repeat(80)}\n`).slice(1);
    const told = parts.map((part) => part.trim().split(' (', 1)[0]);
    assert.deepEqual(told.sort(), [...bundled.all].sort());
    for (const name of ['commander', 'ink', 'react', 'react-reconciler', 'yoga-layout', 'zod', 'lean-qr'])
      assert.ok(
        [...bundled.all].some((each) => each.startsWith(`${name} `)),
        name,
      );
    for (const part of parts) {
      assert.match(part, /copyright|\(c\)/i, part);
      assert.match(part, /permission|redistribution|licensed under/i, part);
    }
  });

  /** The packages from which a run of msgctl has loaded modules, without their versions. */
  async function loadedBy(...args: string[]): Promise<string[]> {
    const chunks = path.join(folder, 'loaded');
    rmSync(chunks, { force: true });
    const keys = { HOME: folder, POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' };
    const loads = new URL('./note-loads-main.ts', import.meta.url).href;
    const child = run(process.execPath, ['--import', loads, program, ...args], {
      cwd: folder,
      env: { ...env, ...keys, NOTE_LOADS_IN: chunks },
    });
    child.child.stdin?.end();
    await child;
    const files = readFileSync(chunks, 'utf8').trim().split('\n').map(fileOf);
    assert.ok(files.includes('msgctl.js'), 'the loads were noted');
    return bundled.of(files);
  }
  const fileOf = (url: string) => path.basename(new URL(url).pathname);

  const INSTANCE = '0198c0de-0000-7000-8000-000000000001';
  const LOADS: [string[], string[]][] = [
    [['--version'], []],
    [['--help'], ['commander']],
    [['send', 'text', '--to', '5511999990000', '--text', 'hi', '--instance', INSTANCE], ['commander']],
    [['api', 'GET', '/v1/instances'], ['commander']],
    [['instances', 'list'], ['commander']],
    [['completion', 'bash'], ['commander']],
    [['mcp'], ['@modelcontextprotocol/sdk', 'commander', 'zod']],
  ];
  for (const [args, expected] of LOADS)
    test(`msgctl ${args.slice(0, 2).join(' ')} loads of other packages: ${expected.join(', ') || 'nothing'}`, async () => {
      assert.deepEqual(await loadedBy(...args), expected);
    });

  test('serves its tools to the official client', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const keys = { HOME: folder, POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x' };
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [program, 'mcp'],
        env: { ...env, ...keys },
      }),
    );
    try {
      assert.ok((await client.listTools()).tools.some(({ name }) => name === 'instances_list'));
      const answer = await client.callTool({ name: 'instances_list', arguments: {} });
      assert.equal(answer.isError, false);
      assert.deepEqual((answer.structuredContent as { result: { data: [] } }).result.data, []);
    } finally {
      await client.close();
    }
  });

  test('prints its version and its help in little more time than Node takes to start', () => {
    const timeOf = (args: string[]) => {
      const times = Array.from({ length: 9 }, () => {
        const since = performance.now();
        execFileSync(process.execPath, args);
        return performance.now() - since;
      });
      return times.sort((a, b) => a - b)[4] as number;
    };
    for (const asked of ['--version', '--help']) {
      const ratio = timeOf([program, asked]) / timeOf(['-e', '0']);
      tellFigure(`msgctl ${asked}`, ratio, { atMost: 3 }, 'times node -e 0');
    }
  });
});
