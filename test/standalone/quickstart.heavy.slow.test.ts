import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { announce } from '@posthorn/standalone/src/announce.ts';
import type { Standalone } from '@posthorn/standalone/src/start.ts';
import { freePort, projectRoot, waitFor } from '@posthorn/test/support/process.ts';
import { reap } from '@posthorn/test/support/reaper.ts';
import { tellFigure } from '../support/figures.ts';
import { type FreshCopy, makeFreshCopy, ordinaryUser, type Person } from './fresh-copy.ts';

/**
 * Runs the README's quickstart literally: each of its code blocks is a terminal, each line a command.
 *
 * One command is not run, `npm ci`: the fresh copy has its results (see fresh-copy.ts). Ports come from the
 * environment, so that a developer's own Posthorn may keep running.
 */

const FIRST_START_MS = 30_000;
const LATER_START_MS = 5_000;
/** More than a busy machine takes for any step. The time of a start is a figure; the test is that it starts. */
const WAIT_MAX_MS = 120_000;
const EVENTS = ['message.sent', 'message.delivered', 'message.read'];

const readme = readFileSync(path.join(projectRoot, 'README.md'), 'utf8');
const blocks = blocksOf(readme);
const terminals = blocks.slice(0, 3);
/** The one call over plain HTTP. */
const overHttp = blocks[3] ?? [];

/** The shell blocks of the section, each as a list of commands. */
function blocksOf(markdown: string): string[][] {
  const section = markdown.split(/^## /m).find((part) => part.startsWith('Quickstart')) ?? '';
  return [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map((block) => block[1]!.trim().split('\n'));
}

/** The next commands that npm start prints. */
function nextSteps(said: string): string[] {
  const [, next = ''] = said.split('Next, in another terminal:');
  return next
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

function announcedOn(urls: Partial<Standalone>): string {
  const places = {
    messagingUrl: 'http://127.0.0.1:8080',
    billingUrl: 'http://127.0.0.1:8081',
    sandboxUrl: 'http://127.0.0.1:8090',
    networks: ['sandbox'],
  };
  return announce({ ...places, dataDir: '.data', databaseDir: '.data', databasePort: null, ...urls }, 1);
}

describe("the README's quickstart", () => {
  const shells: ChildProcess[] = [];
  const copies: FreshCopy[] = [];
  afterEach(() => {
    for (const shell of shells.splice(0)) signal(shell, 'SIGKILL');
  });
  after(() => {
    for (const copy of copies) copy.remove();
  });

  function signal(shell: ChildProcess, name: NodeJS.Signals): void {
    try {
      process.kill(-(shell.pid as number), name);
    } catch {}
  }

  interface Newcomer {
    copy: FreshCopy;
    /** Opens a terminal in the checkout and types the commands. */
    open(commands: readonly string[]): Terminal;
  }

  interface Terminal {
    output(): string;
    /** Presses Ctrl-C, and waits for the end. */
    interrupt(): Promise<void>;
  }

  async function arrive(person: Person = {}, parentMode?: number): Promise<Newcomer> {
    const copy = makeFreshCopy(person, { parentMode });
    copies.push(copy);
    const directory = path.join(copy.dir, '..', 'directory');
    mkdirSync(directory);
    if (person.uid !== undefined) chownSync(directory, person.uid, person.gid as number);
    const env = {
      PATH: process.env.PATH,
      HOME: directory,
      PORT: String(await freePort()),
      SANDBOX_PORT: String(await freePort()),
      BILLING_PORT: String(await freePort()),
      npm_config_update_notifier: 'false',
    };
    return {
      copy,
      open(commands) {
        const shell = spawn('/bin/sh', ['-e', '-c', commands.join('\n')], {
          ...person,
          cwd: copy.dir,
          env,
          // A group of its own, so that Ctrl-C reaches all its processes.
          detached: true,
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        shells.push(shell);
        reap({ pid: -(shell.pid as number) });
        let output = '';
        for (const stream of [shell.stdout, shell.stderr])
          stream.on('data', (chunk) => {
            output += chunk;
          });
        const exit = once(shell, 'exit');
        return {
          output: () => output,
          async interrupt() {
            signal(shell, 'SIGINT');
            await exit;
          },
        };
      },
    };
  }

  /** Waits for the text; fails with everything on the terminal. */
  async function see(terminal: Terminal, what: RegExp | string): Promise<void> {
    const shows = () =>
      typeof what === 'string' ? terminal.output().includes(what) : what.test(terminal.output());
    await waitFor(shows, WAIT_MAX_MS).catch(() => assert.fail(`no ${what} in:\n${terminal.output()}`));
  }

  async function start(newcomer: Newcomer, withinMs: number): Promise<Terminal> {
    const since = performance.now();
    const server = newcomer.open(terminals[0]!.filter((command) => command !== 'npm ci'));
    await see(server, /is ready after/);
    const tookMs = performance.now() - since;
    reap({ pid: databasePid(newcomer.copy), signal: 'SIGQUIT' });
    tellFigure('npm start is ready', tookMs, { atMost: withinMs });
    console.log(`ready ${(tookMs / 1000).toFixed(1)} s after npm start`);
    return server;
  }

  const pidFileOf = (copy: FreshCopy) => path.join(copy.dir, '.data/postgres/data/postmaster.pid');
  const databasePid = (copy: FreshCopy) => Number(readFileSync(pidFileOf(copy), 'utf8').split('\n')[0]);

  async function followTheRest(newcomer: Newcomer, server: Terminal): Promise<void> {
    const [register, ...rest] = terminals[1]!;
    const said = nextSteps(server.output());
    assert.equal(said.at(-1), register);
    const elsewhere = ['npx msgctl billing health', 'npx msgctl sandbox ledger'];
    // Without the export: each command finds the service by itself.
    const webhook = newcomer.open([register!, ...elsewhere, ...rest]);
    await see(webhook, 'listening on');
    const tail = newcomer.open(terminals[2]!);
    for (const event of EVENTS) {
      await see(webhook, event);
      await see(tail, event);
    }
    const http = newcomer.open([...said.filter((line) => line.startsWith('export ')), ...overHttp]);
    await see(http, /"status":"queued"/);
    for (const terminal of [http, tail, webhook, server]) await terminal.interrupt();
    await waitFor(() => !existsSync(pidFileOf(newcomer.copy)), WAIT_MAX_MS, {
      what: 'the database stops with it',
    });
  }

  it('is before line 40 of the README and has at most ten commands', () => {
    const commands = terminals.flat();
    assert.ok(commands.length <= 10, `${commands.length} commands`);
    assert.equal(commands[0], 'npm ci');
    assert.equal(terminals.length, 3);
    const last = readme.split('\n').indexOf(commands.at(-1)!);
    assert.ok(last >= 0 && last < 40, `the last command stands in line ${last + 1}`);
    for (const command of commands) assert.doesNotMatch(command, /<|…|\.\.\./, 'nothing is left to fill in');
  });

  it('matches the next steps that npm start prints', () => {
    assert.deepEqual(nextSteps(announcedOn({})), [terminals[1]![0]]);
  });

  it('comes there after an export of the addresses that msgctl would not find', () => {
    const register = terminals[1]![0];
    const places = {
      POSTHORN_URL: 'messagingUrl',
      POSTHORN_BILLING_URL: 'billingUrl',
      POSTHORN_SANDBOX_URL: 'sandboxUrl',
    };
    for (const [name, place] of Object.entries(places))
      for (const more of [
        { [place]: 'http://[::1]:9000', dataDir: '/srv/data' },
        { [place]: 'http://10.0.0.7:9000' },
      ])
        assert.deepEqual(nextSteps(announcedOn(more)), [`export ${name}=${more[place]}`, register]);
    assert.deepEqual(nextSteps(announcedOn({ sandboxUrl: null })), [register]);
  });

  it('stands below the network, of which it is said that nothing leaves this machine only where that is so', () => {
    const networkOn = (urls: Partial<Standalone>) => /^ {2}network +(.*)$/m.exec(announcedOn(urls))?.[1];
    assert.match(networkOn({})!, /^http.*nothing leaves this machine/);
    assert.match(networkOn({ networks: ['sandbox', 'whatsapp'] })!, /^http\S+ {2}\(a sandbox\), whatsapp$/);
    assert.equal(networkOn({ sandboxUrl: null, networks: ['whatsapp'] }), 'whatsapp');
  });

  it('comes there without one where msgctl finds the service in the checkout', () => {
    const register = terminals[1]![0];
    const elsewhere = { billingUrl: 'http://127.0.0.1:9001', sandboxUrl: 'http://127.0.0.1:9002' };
    assert.deepEqual(nextSteps(announcedOn(elsewhere)), [register]);
    assert.deepEqual(nextSteps(announcedOn({ ...elsewhere, messagingUrl: 'http://127.0.0.1:9000' })), [
      'export POSTHORN_URL=http://127.0.0.1:9000  # for curl and the SDK; msgctl finds it in this folder',
      register,
    ]);
  });

  it('works as the user who runs these tests', async () => {
    const newcomer = await arrive();
    await followTheRest(newcomer, await start(newcomer, FIRST_START_MS));
  });

  it('works as an ordinary user', async () => {
    const newcomer = await arrive(ordinaryUser());
    await followTheRest(newcomer, await start(newcomer, FIRST_START_MS));
  });

  it('works in a checkout under a folder that only its owner may enter', async () => {
    const newcomer = await arrive({}, 0o700);
    await followTheRest(newcomer, await start(newcomer, FIRST_START_MS));
  });

  it('works after the start was killed with SIGKILL (aim: ready again within five seconds)', async () => {
    const newcomer = await arrive();
    await start(newcomer, FIRST_START_MS);
    const stale = databasePid(newcomer.copy);
    process.kill(Number(readFileSync(path.join(newcomer.copy.dir, '.data/pid'), 'utf8')), 'SIGKILL');
    const server = await start(newcomer, LATER_START_MS);
    assert.notEqual(databasePid(newcomer.copy), stale);
    await followTheRest(newcomer, server);
  });
});
