import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { baseEnv, freePort, startProcess } from './process.ts';

const MANIFEST = {
  private: true,
  dependencies: { verdaccio: '6.10.4' },
  // One of its packages asks for the tag `cjs`, which mirrors of npm do not have.
  overrides: { 'node-fetch': '2.7.0' },
};
const PATH = `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`;

export interface LocalRegistry {
  url: string;
  /** For npm: this registry, a login that may publish, and a cache of its own. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/**
 * A registry of npm on 127.0.0.1 that knows only the packages published to it: Verdaccio, installed from npm for the
 * time of the test. It weighs 65 MB in 321 packages, too much for everybody's `npm ci`.
 */
export async function startRegistry(): Promise<LocalRegistry> {
  const dir = mkdtempSync(path.join(tmpdir(), 'posthorn-registry-'));
  writeFileSync(path.join(dir, 'package.json'), JSON.stringify(MANIFEST));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--prefix', dir];
  await promisify(execFile)('npm', ['install', ...flags], { cwd: dir, env: { ...process.env, PATH } });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = {
    storage: path.join(dir, 'storage'),
    auth: { htpasswd: { file: path.join(dir, 'htpasswd') } },
    packages: { '**': { access: '$all', publish: '$authenticated' } },
    log: { type: 'stdout', format: 'json', level: 'warn' },
  };
  writeFileSync(path.join(dir, 'config.yaml'), JSON.stringify(config));
  const running = await startProcess({
    entry: path.join(dir, 'node_modules/verdaccio/bin/verdaccio'),
    args: ['--config', path.join(dir, 'config.yaml'), '--listen', `127.0.0.1:${port}`],
    env: baseEnv(),
    ready: { url: `${url}-/ping` },
    timeoutMs: 60_000,
  });
  const account = { name: 'tester', password: 'a password of the test' };
  const login = await fetch(`${url}-/user/org.couchdb.user:${account.name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(account),
  });
  const { token } = (await login.json()) as { token?: string };
  if (!token) throw new Error(`the registry made no account: ${login.status}`);
  const home = path.join(dir, 'home');
  mkdirSync(home);
  writeFileSync(path.join(home, '.npmrc'), `registry=${url}\n//127.0.0.1:${port}/:_authToken=${token}\n`);
  return {
    url,
    env: { ...baseEnv(), PATH, HOME: home, npm_config_cache: path.join(home, 'cache') },
    async stop() {
      await running.kill('SIGTERM');
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
