import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { chooseServerUser } from '@posthorn/standalone/src/embedded-postgres/server-user.ts';
import pg from 'pg';
import { ensureProgram } from './debian-package.ts';
import { freePort, waitFor } from './process.ts';
import { makeReachableDir } from './reachable-dir.ts';
import { reap } from './reaper.ts';

export interface PgBouncer {
  /** The same database, through PgBouncer. */
  url: string;
  version: string;
  stop(): Promise<void>;
}

/** PgBouncer in front of a database; `settings` are lines of its configuration. */
export async function startPgBouncer(databaseUrl: string, settings: readonly string[]): Promise<PgBouncer> {
  await ensureProgram('pgbouncer');
  const as = chooseServerUser();
  const dir = makeReachableDir('posthorn-pgbouncer-', as);
  const port = await freePort();
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl);
  const file = path.join(dir, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${serverPort} user=${username} password=${password}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
    ...['max_client_conn = 500', 'default_pool_size = 150', ...settings],
  ];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  if (as.uid !== undefined) chownSync(file, as.uid, as.gid as number);
  const running = spawn('pgbouncer', ['-q', file], { ...as, cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  running.stderr.on('data', (text) => (output += text));
  const forget = reap({ pid: running.pid!, signal: 'SIGKILL' });
  running.once('exit', forget);
  const url = `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`;
  await waitFor(
    async () => {
      if (running.exitCode !== null) throw new Error(`pgbouncer ended: ${output}`);
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      await client.end();
      return true;
    },
    30_000,
    { what: 'pgbouncer answers' },
  );
  const { stdout } = await promisify(execFile)('pgbouncer', ['--version']);
  return {
    url,
    version: stdout.split('\n')[0]!,
    async stop() {
      const ended = once(running, 'exit');
      if (running.kill('SIGINT')) setTimeout(() => running.kill('SIGKILL'), 5_000).unref();
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
