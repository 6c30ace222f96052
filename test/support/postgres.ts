import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { findBinaries } from '@posthorn/standalone/src/embedded-postgres/binaries.ts';
import { chooseServerUser } from '@posthorn/standalone/src/embedded-postgres/server-user.ts';
import { freePort, waitFor } from './process.ts';
import { makeReachableDir } from './reachable-dir.ts';
import { reap } from './reaper.ts';
import { askShared } from './shared.ts';

const run = promisify(execFile);
const TEMPLATE = 'posthorn_template';

/** Linux's file system in memory. */
const MEMORY_DISK = '/dev/shm';
const MEMORY_DISK_MIN_BYTES = 6 * 1024 ** 3;
/** Flags of initdb that a server from elsewhere may be too old for. */
const NEWER_FLAGS = [
  ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
  // Real passwords, so that roles are kept apart; cheap ones, since each test file connects anew.
  ...['--set', 'scram_iterations=1'],
];

export interface PostgresServer {
  /** The superuser's way into the database `postgres`. */
  url: string;
  urlOf(database: string): string;
  dir: string;
  pid(): number;
  /** The power cut: SIGKILL to the server and its backends. Committed data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port, killing it first if it runs. */
  restart(): Promise<void>;
  /** Stops every process of the server: the connections stay open and nobody answers. */
  pause(): void;
  resume(): void;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

/**
 * Starts a private PostgreSQL on 127.0.0.1, its binaries from npm. It works as root (the server then
 * runs as another user) and as an ordinary user, and it never outlives the process that started it.
 * `fsync` off makes it lose data when the machine crashes, not when a process is killed. `binaries` is the
 * folder of another PostgreSQL, whose `bin` holds initdb and postgres.
 */
export async function startPostgres(
  options: {
    dir?: string;
    port?: number;
    fsync?: boolean;
    binaries?: string;
    /** A primary that does not run: the server becomes its standby, and follows it once the primary runs again. */
    standbyOf?: PostgresServer;
  } = {},
): Promise<PostgresServer> {
  const as = chooseServerUser();
  const dir = options.dir ?? makeReachableDir('posthorn-pg-', as);
  mkdirSync(dir, { recursive: true });
  const port = options.port ?? (await freePort());
  const primary = options.standbyOf && new URL(options.standbyOf.url);
  const password = primary?.password ?? randomBytes(12).toString('hex');
  const binaries = options.binaries ?? findBinaries(dir, as);
  const data = path.join(dir, 'data');
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
  const forgetDir = reap({ dir });

  mkdirSync(data, { recursive: true, mode: 0o700 });
  if (as.uid !== undefined) chownSync(data, as.uid, as.gid as number);
  if (options.standbyOf) {
    await run('cp', ['-a', `${path.join(options.standbyOf.dir, 'data')}/.`, data]);
    rmSync(path.join(data, 'postmaster.pid'), { force: true });
    await run('touch', ['-r', path.join(data, 'PG_VERSION'), path.join(data, 'standby.signal')]);
    if (as.uid !== undefined) chownSync(path.join(data, 'standby.signal'), as.uid, as.gid as number);
  } else await initialize();

  async function initialize(): Promise<void> {
    const passwordFile = path.join(dir, 'password');
    if (existsSync(passwordFile)) throw new Error(`${dir} holds a server already`);
    writeFileSync(passwordFile, password, { mode: 0o600 });
    if (as.uid !== undefined) chownSync(passwordFile, as.uid, as.gid as number);
    await run(
      path.join(binaries, 'bin', 'initdb'),
      [
        ...['-D', data, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--no-sync'],
        ...['--encoding=UTF8', '--locale=C'],
        ...(options.binaries ? [] : NEWER_FLAGS),
      ],
      { ...as, env, cwd: dir },
    );
  }

  const urlOf = (database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 300,
    // Partitioned logs need more: one statement may lock many tables, and dropping a database's worth does.
    max_locks_per_transaction: 256,
    ...(options.fsync === false && { fsync: 'off', full_page_writes: 'off' }),
    timezone: 'UTC',
    log_min_messages: 'warning',
    ...(primary && {
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=standby`,
    }),
  };
  const log = openSync(path.join(dir, 'log'), 'a');
  let pid = 0;

  const launch = async () => {
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawn(path.join(binaries, 'bin', 'postgres'), ['-D', data, ...flags], {
      ...as,
      env,
      cwd: dir,
      // Its own session: Ctrl-C at the terminal must not stop it while tests that use it are ending.
      detached: true,
      stdio: ['ignore', log, log],
    });
    server.unref();
    pid = server.pid ?? 0;
    // SIGQUIT is the immediate shutdown: unlike SIGKILL it frees the shared memory.
    const forget = reap({ pid, signal: 'SIGQUIT' });
    server.once('exit', forget);
    const db = connect(urlOf('postgres'));
    const ended = () => server.exitCode !== null || server.signalCode !== null;
    await waitFor(async () => ended() || (await db.query('SELECT 1')), 30_000, { what: 'PostgreSQL answers' })
      .then(() => {
        if (ended()) throw new Error(`PostgreSQL ended while starting:\n${tail(dir)}`);
      })
      .finally(() => db.close());
    return server;
  };
  let server = await launch();

  const end = async (how: 'power cut' | 'stop') => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.ref();
    const exit = once(server, 'exit');
    const backends = how === 'power cut' ? childrenOf(pid) : [];
    signalTo([pid, ...backends], how === 'power cut' ? 'SIGKILL' : 'SIGQUIT');
    await exit;
    await waitFor(() => {
      const alive = listProcesses().filter(({ state }) => !state.startsWith('Z'));
      return !alive.some((process) => backends.includes(process.pid));
    });
  };

  return {
    url: urlOf('postgres'),
    urlOf,
    dir,
    pid: () => pid,
    kill: () => end('power cut'),
    async restart() {
      await end('power cut');
      server = await launch();
    },
    pause: () => signalTo([pid, ...childrenOf(pid)], 'SIGSTOP'),
    resume: () => signalTo([...childrenOf(pid), pid], 'SIGCONT'),
    async stop() {
      await end('stop');
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
      forgetDir();
    },
  };
}

/**
 * The server of many test files, with a migrated template for createTestDatabase. Without `fsync` its files are in
 * memory where there is enough of it: a database is a thousand files, and each test file makes one.
 */
export async function startTestPostgres(options: { fsync?: boolean } = {}): Promise<PostgresServer> {
  const inMemory = options.fsync === false && freeBytes(MEMORY_DISK) > MEMORY_DISK_MIN_BYTES;
  const dir = inMemory ? makeReachableDir('posthorn-pg-', chooseServerUser(), MEMORY_DISK) : undefined;
  const server = await startPostgres({ ...options, ...(dir && { dir }) });
  const db = connect(server.url);
  await db.query(`CREATE DATABASE ${TEMPLATE}`);
  await db.close();
  await migrate(server.urlOf(TEMPLATE));
  return server;
}

function freeBytes(disk: string): number {
  if (!existsSync(disk)) return 0;
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

// Module state on purpose: a test file that runs alone has no runner to pass it a server.
let own: Promise<PostgresServer> | undefined;

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/**
 * A database for this file alone, cloned from the migrated template, on the server of the run or, for a file that runs
 * alone, on one that lives as long as this process.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const shared = await askShared('postgres');
  if (!shared) own ??= startTestPostgres();
  return cloneTemplate((shared ?? (await own)!).url);
}

/** A new database on a server with the migrated template. */
export async function cloneTemplate(adminUrl: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const admin = connect(adminUrl);
  try {
    const { rows } = await admin.query<{ fsync: string }>('SHOW fsync');
    // Copying the files is quickest, unless each has to reach the disk before it counts.
    const strategy = rows[0]?.fsync === 'off' ? 'FILE_COPY' : 'WAL_LOG';
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY ${strategy}`);
  } finally {
    await admin.close();
  }
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async drop() {
      const db = connect(adminUrl);
      await db.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).finally(() => db.close());
    },
  };
}

function connect(url: string): Db {
  const log = createLog({ level: 'silent', role: 'test' });
  return createDb({ url, poolSize: 1, log, name: 'test harness' });
}

/** The pids whose parent is `pid`: a server's backends have sessions of their own, so no group holds them. */
function childrenOf(pid: number): number[] {
  return listProcesses()
    .filter(({ parent }) => parent === pid)
    .map((child) => child.pid);
}

interface ProcessEntry {
  pid: number;
  parent: number;
  /** `Z` is a dead process that nobody has waited for yet: kill(2) cannot tell it from a living one. */
  state: string;
}

/** Read from /proc where there is one, because slim images have no `ps`. */
function listProcesses(): ProcessEntry[] {
  if (!existsSync('/proc/self/stat')) {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,stat=,ppid='], { encoding: 'utf8' });
    return table.trim().split('\n').map(parseProcess);
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // `pid (name) state ppid ...`, where the name may hold spaces.
        return [parseProcess(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/\(.*\)/s, ''))];
      } catch {
        return [];
      }
    });
}

function parseProcess(line: string): ProcessEntry {
  const [pid, state = '', parent] = line.trim().split(/\s+/);
  return { pid: Number(pid), parent: Number(parent), state };
}

function signalTo(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {}
  }
}

function tail(dir: string): string {
  return readFileSync(path.join(dir, 'log'), 'utf8').slice(-2_000);
}
