import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createShutdown, type Shutdown, shutdownTimes } from '@posthorn/core/platform/process/shutdown.ts';
import { waitFor } from '../support/process.ts';

const log = createLog({ level: 'silent', role: 'test' });

describe('the end of a process', () => {
  afterEach(() => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.removeAllListeners(signal);
  });

  function start(times: { delayMs?: number; graceMs: number }) {
    const shutdown = createShutdown({ log, ...times });
    const done: { closed: string[]; exits: number[] } = { closed: [], exits: [] };
    for (const name of ['database', 'server']) shutdown.add(name, () => void done.closed.push(name));
    shutdown.onSignals((code) => done.exits.push(code));
    return { shutdown, ...done };
  }
  const send = (signal: NodeJS.Signals) => process.emit(signal, signal);

  it('reports at once that it drains, closes nothing during the delay, and then the last part first', async () => {
    const { shutdown, closed, exits } = start({ delayMs: 300, graceMs: 1_000 });
    const begun = performance.now();
    send('SIGTERM');
    assert.equal(shutdown.isDraining(), true);
    assert.equal(shutdown.signal.aborted, false);
    await delay(100);
    assert.deepEqual(closed, []);
    await waitFor(() => exits.length > 0);
    assert.ok(performance.now() - begun >= 290);
    assert.deepEqual(closed, ['server', 'database']);
    assert.deepEqual(exits, [0]);
    assert.equal(shutdown.signal.aborted, true);
  });

  it('counts the grace from the end of the delay', async () => {
    const { shutdown, exits } = start({ delayMs: 1_500, graceMs: 1_000 });
    shutdown.add('slow', () => delay(50));
    send('SIGTERM');
    await waitFor(() => exits.length > 0);
    assert.deepEqual(exits, [0]);
  });

  it('gives up on parts that do not close within the grace period', async () => {
    const { shutdown, exits } = start({ graceMs: 100 });
    shutdown.add('stuck', () => new Promise(() => {}));
    send('SIGTERM');
    await waitFor(() => exits.length > 0);
    assert.deepEqual(exits, [1]);
  });

  for (const [what, signals, expected] of [
    ['one Ctrl-C that arrives twice', ['SIGINT', 'SIGINT'], [0]],
    ['a SIGTERM that arrives twice', ['SIGTERM', 'SIGTERM'], [0]],
    ['a SIGTERM and then a Ctrl-C', ['SIGTERM', 'SIGINT'], [1, 0]],
  ] as const)
    it(`${what} exits with ${expected[0]}`, async () => {
      const { exits } = start({ delayMs: 200, graceMs: 1_000 });
      for (const signal of signals) send(signal);
      await waitFor(() => exits.length === expected.length);
      assert.deepEqual(exits, expected);
    });

  it('exits with 1 at the same signal once more, later', async () => {
    const { exits } = start({ delayMs: 3_000, graceMs: 1_000 });
    send('SIGINT');
    await delay(1_200);
    send('SIGINT');
    assert.deepEqual(exits, [1]);
  });

  it('takes a Ctrl-C for one whose second signal came while the process stood still', async () => {
    const { shutdown, exits } = start({ delayMs: 200, graceMs: 1_000 });
    process.kill(process.pid, 'SIGINT');
    await waitFor(() => shutdown.isDraining());
    process.kill(process.pid, 'SIGINT');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_300);
    await waitFor(() => exits.length > 0);
    assert.deepEqual(exits, [0]);
  });

  it('waits for no delay when something failed, and cuts one short that has begun', async () => {
    const failed = start({ delayMs: 60_000, graceMs: 1_000 });
    await failed.shutdown.begin('the database died');
    assert.deepEqual(failed.closed, ['server', 'database']);

    const draining: { shutdown: Shutdown; closed: string[] } = start({ delayMs: 60_000, graceMs: 1_000 });
    send('SIGTERM');
    await draining.shutdown.begin('the database died');
    assert.deepEqual(draining.closed, ['server', 'database']);
  });
});

describe('the times of an end', () => {
  for (const [NODE_ENV, SHUTDOWN_DELAY_SECONDS, isBalanced, delayMs] of [
    ['production', undefined, true, 5_000],
    ['production', 0, true, 0],
    ['production', 12.5, true, 12_500],
    ['production', undefined, false, 0],
    ['production', 5, false, 0],
    ['development', undefined, true, 0],
    ['test', undefined, true, 0],
    ['test', 2, true, 2_000],
  ] as const)
    it(`${NODE_ENV}, set to ${SHUTDOWN_DELAY_SECONDS}, ${isBalanced ? 'behind a balancer' : 'asked by nobody'}: ${delayMs} ms`, () => {
      const config = { NODE_ENV, SHUTDOWN_DELAY_SECONDS, SHUTDOWN_GRACE_SECONDS: 7 };
      assert.deepEqual(shutdownTimes(config, { isBalanced }), { delayMs, graceMs: 7_000 });
    });
});
