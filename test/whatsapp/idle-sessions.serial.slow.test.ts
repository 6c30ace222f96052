import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { tellFigure } from '../support/figures.ts';
import {
  connected,
  type Kept,
  type MemoryKeys,
  newKept,
  openRecorded,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import { FileKeys, KeyFile } from '../support/whatsapp/file-keys.ts';
import type { FromNetwork, ToNetwork } from '../support/whatsapp/network-main.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

const IS_FULL = process.env.POSTHORN_FULL === '1';
const SESSIONS = IS_FULL ? 500 : 10;
const IDLE_MS = IS_FULL ? 60_000 : 3_000;
const SEND_S = IS_FULL ? 600 : 3;
const SENDS_PER_S = 50;
const SESSION_MIB_MAX = 4;
const PAIRINGS_AT_ONCE = 4;
const FRIEND = '999100000000@s.whatsapp.net';
const silentLog = { debug() {}, warn() {}, error() {} };

describe(`${SESSIONS} sessions in one process`, () => {
  let network: ChildProcess;
  let folder: string;
  let db: KeyFile;
  let driver: NetworkDriver;
  const sessions: Recorded[] = [];
  const kept: Kept[] = [];
  /**
   * With the library and a few closed sessions: growth above this belongs to the sessions, with the leftovers of their
   * pairings.
   */
  let empty = { rss: 0, heap: 0 };

  before(async () => {
    network = fork(path.join(import.meta.dirname, '../support/whatsapp/network-main.ts'));
    const { url, ca, root } = await told<{ url: string; ca: string; root: string }>('url');
    trustRoot(await loadLibrary(), Buffer.from(root, 'base64'));
    driver = createWhatsAppDriver({ url, ca, log: silentLog });
    folder = await mkdtemp(path.join(tmpdir(), 'posthorn-sessions-'));
    db = new KeyFile(path.join(folder, 'keys.db'));
  });
  after(async () => {
    await Promise.all(sessions.map(({ session }) => session.close()));
    network?.disconnect();
    db?.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  /** The next message from the network process that has this field. */
  async function told<T extends FromNetwork>(field: string): Promise<T> {
    for (;;) {
      const [message] = (await once(network, 'message')) as [FromNetwork];
      if (field in message) return message as T;
    }
  }

  async function count() {
    const answer = told<Extract<FromNetwork, { loggedIn: number }>>('loggedIn');
    network.send({ ask: 'count' } satisfies ToNetwork);
    return answer;
  }

  async function pair(nth: number): Promise<void> {
    const own: Kept = { ...newKept(), keys: new FileKeys(db, nth) as unknown as MemoryKeys };
    const recorded = await openRecorded(driver, own);
    const qr = await until(() => recorded.qrs.at(-1), 'a QR code', 60_000);
    network.send({ ask: 'pair', qr } satisfies ToNetwork);
    await until(() => recorded.connected > 0, `session ${nth} is paired`, 60_000);
    await until(() => recorded.history.length > 0, `session ${nth} has its history`, 60_000);
    await recorded.session.close();
    kept.push(own);
  }

  it('are paired, and log in again', { timeout: 30 * 60_000 }, async (t) => {
    const since = performance.now();
    // The first ones load the code that all of them need.
    let next = PAIRINGS_AT_ONCE;
    await Promise.all(Array.from({ length: next }, (_, at) => pair(at + 1)));
    empty = memory();
    const pairOn = async () => {
      while (next < SESSIONS) {
        next += 1;
        await pair(next);
      }
    };
    await Promise.all(Array.from({ length: PAIRINGS_AT_ONCE }, pairOn));
    t.diagnostic(`${SESSIONS} paired in ${((performance.now() - since) / 1_000).toFixed(0)} s`);
  });

  it(`take at most ${SESSION_MIB_MAX} MiB each while they are idle`, {
    timeout: 10 * 60_000,
  }, async (t) => {
    for (const own of kept) {
      // Receipts that the test itself would keep are not the sessions' memory.
      const recorded = await openRecorded(driver, own, { sink: { receipts: async () => undefined } });
      sessions.push(recorded);
      if (sessions.length % PAIRINGS_AT_ONCE === 0) await connected(recorded);
    }
    for (const recorded of sessions) await connected(recorded);
    await delay(3_000);
    const cpu = process.cpuUsage();
    const since = performance.now();
    await delay(IDLE_MS);
    const used = process.cpuUsage(cpu);
    const full = memory();
    const seconds = (performance.now() - since) / 1_000;
    const perSession = (full.rss - empty.rss) / SESSIONS;
    tellFigure(
      `memory of each of ${SESSIONS} idle sessions`,
      Number(mib(perSession)),
      { atMost: SESSION_MIB_MAX },
      'MiB',
    );
    const cpuMs = (used.user + used.system) / 1_000 / seconds / SESSIONS;
    t.diagnostic(
      `${mib((full.heap - empty.heap) / SESSIONS)} MiB of it is heap; ${cpuMs.toFixed(3)} ms of CPU a second each; ` +
        `the process has ${mib(full.rss)} MiB`,
    );
    assert.equal((await count()).loggedIn, SESSIONS);
  });

  it(`send ${SENDS_PER_S} a second for ${SEND_S} s in level memory`, { timeout: 30 * 60_000 }, async (t) => {
    const earlier = (await count()).received;
    const total = SENDS_PER_S * SEND_S;
    const start = performance.now();
    const cpu = process.cpuUsage();
    const underWay = new Set<Promise<unknown>>();
    const failed: unknown[] = [];
    const measured: number[] = [];
    for (let nth = 0; nth < total; nth += 1) {
      const sending = sendText(sessions[nth % SESSIONS]!, FRIEND, `text ${nth}`)
        .catch((err) => failed.push(err))
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
      if (nth % (total / 10) === 0) measured.push(memory().rss);
      const ahead = start + ((nth + 1) * 1_000) / SENDS_PER_S - performance.now();
      if (ahead > 0) await delay(ahead);
    }
    await Promise.all(underWay);
    assert.deepEqual(failed, []);
    const seconds = (performance.now() - start) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    measured.push(memory().rss);
    t.diagnostic(
      `${total} sent in ${seconds.toFixed(1)} s, each with ${((user + system) / 1_000 / total).toFixed(2)} ms of CPU, ` +
        `forced garbage collections included; memory in MiB: ${measured.map(mib).join(', ')}`,
    );
    const { received, failures, problems } = await count();
    assert.deepEqual([received - earlier, failures, problems], [total, 0, []]);
    // After the first third every session has its keys for the friend, and nothing should grow any more.
    if (IS_FULL) assert.ok(measured.at(-1)! <= measured[3]! * 1.1, 'memory grows');
  });
});

/** The memory in use after a garbage collection. */
function memory(): { rss: number; heap: number } {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed + external };
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(2);
}
