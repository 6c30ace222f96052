import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import pg from 'pg';
import { findBinaries } from './binaries.ts';
import { type DataDirectory, prepareDataDirectory } from './data-directory.ts';
import { initCluster, serverEnv } from './init-cluster.ts';
import { DATABASE, serverUrl } from './server-url.ts';
import { endStaleProcess } from './stale-process.ts';

export interface EmbeddedPostgres {
  /** URL of the database `posthorn`, on 127.0.0.1 and a free port. */
  url: string;
  directory: DataDirectory;
  /** Process id of an earlier start's server that had to be stopped first, or null. */
  endedStaleProcess: number | null;
  /** Resolves with a one-line description if the server ends without being asked to. */
  readonly died: Promise<string>;
  /** Fast shutdown: open connections are cut, committed data is on disk. */
  stop(): Promise<void>;
}

/** Without an answer. */
const START_TIMEOUT_MS = 20_000;
const STARTING_UP = '57P03';
const STOP_TIMEOUT_MS = 8_000;
/** A port taken in between, or backends of a killed server that have not noticed yet: both are temporary. */
const ATTEMPTS = 5;

/**
 * Starts the npm package's PostgreSQL on the data of `dataDir`, which it creates at the first start. The
 * caller holds the lock of `dataDir`. Rejects with a one-line explanation.
 */
export async function startEmbeddedPostgres(options: {
  dataDir: string;
  password: string;
}): Promise<EmbeddedPostgres> {
  const directory = prepareDataDirectory(options.dataDir);
  const binaries = findBinaries(directory.dir, directory.user);
  await initCluster(directory, binaries, options.password);
  const endedStaleProcess = await endStaleProcess(directory.data);
  const logFile = path.join(options.dataDir, 'postgres.log');
  const { server, port } = await launch({ directory, binaries, logFile, password: options.password });
  let stopping = false;
  // If our process exits without waiting, the server still gets its signal and shuts down cleanly by itself.
  const onExit = () => server.kill('SIGINT');
  process.once('exit', onExit);
  const died = once(server, 'exit').then(([code, signal]) => {
    process.off('exit', onExit);
    if (stopping) return new Promise<never>(() => {});
    return `PostgreSQL ended unexpectedly (${signal ?? code}), see ${logFile}`;
  });
  return {
    url: serverUrl(port, options.password),
    directory,
    endedStaleProcess,
    died,
    async stop() {
      stopping = true;
      await end(server);
    },
  };
}

interface Launch {
  directory: DataDirectory;
  binaries: string;
  logFile: string;
  password: string;
}

async function launch(options: Launch): Promise<{ server: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const server = spawnServer(options, port);
    const failure = await becomeReady(server, serverUrl(port, options.password, 'postgres'));
    if (failure === null) return { server, port };
    await end(server);
    if (failure instanceof Refused || attempt === ATTEMPTS)
      throw new StartError(`PostgreSQL does not start: ${failure.message || reasonIn(options.logFile)}`);
    await delay(300);
  }
}

function spawnServer({ directory, binaries, logFile }: Launch, port: number): ChildProcess {
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    // Logs are partitioned by day: one statement may lock many tables.
    max_locks_per_transaction: 256,
    timezone: 'UTC',
    // The application reports failed statements: their values must not get into a log.
    log_min_messages: 'log',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = openSync(logFile, 'a', 0o600);
  try {
    return spawn(path.join(binaries, 'bin', 'postgres'), ['-D', directory.data, ...flags], {
      ...directory.user,
      env: serverEnv(),
      cwd: directory.dir,
      // In its own session: Ctrl-C at the terminal must not stop the database while other parts drain.
      detached: true,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
}

/** A retry would not help: the server runs and refuses our connection. */
class Refused extends Error {}

/** Null once the database `posthorn` exists; an error without a message if the server ended by itself. */
async function becomeReady(server: ChildProcess, url: string): Promise<Error | null> {
  let failed: Error | null = null;
  server.once('error', (err) => {
    failed = new Refused(err.message);
  });
  let deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if (failed) return failed;
    if (hasEnded(server)) return new Error('');
    try {
      await ensureDatabase(url);
      return null;
    } catch (err) {
      const { code } = err as { code?: string };
      if (code === '28P01') return new Refused('its password is not the one in secrets.json');
      // It replays what was written before a power cut, for minutes on a slow disk. Ended in between it would begin again at each start.
      if (code === STARTING_UP) deadline = performance.now() + START_TIMEOUT_MS;
    }
    await delay(15);
  }
  return new Refused('it does not answer');
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
  } finally {
    await client.end();
  }
}

async function end(server: ChildProcess): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    if (hasEnded(server) || server.pid === undefined) return;
    const exit = once(server, 'exit');
    server.kill(signal);
    await Promise.race([exit, delay(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }
}

const hasEnded = (server: ChildProcess) => server.exitCode !== null || server.signalCode !== null;

/** The last error in the log of a server that ended by itself. */
function reasonIn(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n');
  return lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? lines.at(-1) ?? '';
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}
