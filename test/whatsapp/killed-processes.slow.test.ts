import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { KeyFile } from '../support/whatsapp/file-keys.ts';
import type { FromKillable, Killable, ToKillable } from '../support/whatsapp/killable-main.ts';
import { ensureWhatsAppLibrary } from '../support/whatsapp/library-install.ts';
import type { FromNetwork, NetworkReport, ToNetwork } from '../support/whatsapp/network-main.ts';

const IS_FULL = process.env.POSTHORN_FULL === '1';
/** Each kill ends one process with all its sessions: the number of killed sessions is the product of the two. */
const KILLS = IS_FULL ? 125 : 4;
const SESSIONS = 8;
/** The most writes of keys before a process is killed: while it logs in, and while messages come and go. */
const LOGIN_WRITES = SESSIONS * 8;
const WRITES_MAX = SESSIONS * 48;
/** The friend writes to all after each so many writes of keys, so that messages come while others are sent. */
const WRITES_A_ROUND = SESSIONS * 8;
const FRIEND = '999100000000@s.whatsapp.net';
const WAIT_MS = 240_000;

describe(`processes that hold ${SESSIONS} sessions of WhatsApp, killed ${KILLS} times (SIGKILL)`, () => {
  let network: ChildProcess;
  let folder: string;
  let db: KeyFile;
  let given: Killable;
  const alive = new Set<ChildProcess>();

  before(async () => {
    await ensureWhatsAppLibrary();
    network = start('network-main.ts', []);
    const reached = await told<{ url: string; ca: string; root: string }>(network, 'url');
    folder = await mkdtemp(path.join(tmpdir(), 'posthorn-kills-'));
    const file = path.join(folder, 'keys.db');
    db = new KeyFile(file);
    given = { ...reached, file, friend: FRIEND, sessions: SESSIONS };
  });
  after(async () => {
    for (const child of alive) child.kill('SIGKILL');
    db?.close();
    if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  function start(main: string, args: string[]): ChildProcess {
    const child = fork(path.join(import.meta.dirname, '../support/whatsapp', main), args);
    alive.add(child);
    child.once('exit', () => alive.delete(child));
    return child;
  }

  /** The next message of a process that has this field. */
  async function told<T>(child: ChildProcess, field: string): Promise<T> {
    const signal = AbortSignal.timeout(WAIT_MS);
    for (;;) {
      const [message] = (await once(child, 'message', { signal })) as [object];
      if (field in message) return message as T;
    }
  }

  /** A process that has loaded everything and waits to begin. */
  async function ready(): Promise<ChildProcess> {
    const child = start('killable-main.ts', [JSON.stringify(given)]);
    await told(child, 'ready');
    return child;
  }

  function ask(what: ToNetwork): void {
    network.send(what);
  }

  async function report(): Promise<NetworkReport> {
    const answer = told<Extract<FromNetwork, NetworkReport>>(network, 'written');
    ask({ ask: 'report' });
    return answer;
  }

  /**
   * Begins the sessions of a process. Resolves when each has sent something; `onWrite` is called at each write of keys.
   */
  async function begin(
    child: ChildProcess,
    how: ToKillable['begin'],
    onWrite: (writes: number) => void = () => undefined,
  ): Promise<void> {
    let writes = 0;
    const sent = new Set<number>();
    const done = Promise.withResolvers<void>();
    child.on('message', (message: FromKillable) => {
      if ('qr' in message) ask({ ask: 'pair', qr: message.qr });
      if ('sent' in message) sent.add(message.sent);
      if ('wrote' in message) {
        writes += 1;
        onWrite(writes);
      }
      if (sent.size === SESSIONS) done.resolve();
    });
    child.once('exit', () => done.resolve());
    child.send({ begin: how } satisfies ToKillable);
    await Promise.race([done.promise, delay(WAIT_MS, undefined, { ref: false })]);
    assert.ok(child.signalCode !== null || sent.size === SESSIONS, `${sent.size} of ${SESSIONS} have sent`);
  }

  /**
   * One life: everything runs until the write of keys at which the process is killed. Returns that place, to explain a
   * failure.
   */
  async function live(child: ChildProcess): Promise<string> {
    const killAt = randomInt(4) === 0 ? randomInt(1, LOGIN_WRITES) : randomInt(LOGIN_WRITES, WRITES_MAX);
    const gone = once(child, 'exit', { signal: AbortSignal.timeout(WAIT_MS) });
    await begin(child, 'live', (writes) => {
      if (writes % WRITES_A_ROUND === 1) ask({ ask: 'write' });
      if (writes === killAt) child.kill('SIGKILL');
    });
    await gone;
    assert.equal(child.signalCode, 'SIGKILL', 'it has ended by itself');
    return `killed at write ${killAt}`;
  }

  const missing = ({ written }: NetworkReport) => {
    const rows = db.prepare('SELECT id, text FROM recorded').all();
    const recorded = new Map(rows.map(({ id, text }) => [String(id), String(text)]));
    return Object.entries(written).filter(([id, text]) => recorded.get(id) !== text);
  };

  it('lose nothing, can read everything, and all that they send is decrypted once', {
    timeout: 60 * 60_000,
  }, async (t) => {
    const first = await ready();
    await begin(first, 'settle');
    first.kill('SIGKILL');
    let next = ready();
    for (let nth = 1; nth <= KILLS; nth += 1) {
      const child = await next;
      // The next process loads while this one lives.
      next = ready();
      const where = await live(child);
      assert.deepEqual((await report()).unreadable, [], where);
    }
    await begin(await next, 'settle');
    const end = performance.now() + WAIT_MS;
    let last = await report();
    while ((last.pending > 0 || missing(last).length > 0) && performance.now() < end) {
      await delay(100);
      last = await report();
    }
    assert.deepEqual(missing(last), [], 'these were lost');
    assert.deepEqual([last.unreadable, last.problems], [[], []]);
    const accepted = db.prepare('SELECT id FROM accepted').all();
    const odd = accepted.filter(({ id }) => last.read[String(id)] !== 1);
    assert.deepEqual(odd, [], 'all that was accepted is decrypted once');
    // Each session has sent after it was paired, and after all the kills.
    assert.ok(accepted.length >= 2 * SESSIONS && Object.keys(last.written).length > 0);
    t.diagnostic(
      `${KILLS} kills of ${SESSIONS} sessions: ${Object.keys(last.written).length} received, ` +
        `${accepted.length} sent, of which ${last.takenTwice.length} reached the network more than once`,
    );
  });
});
