import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type LoopOptions, startLoop } from '@posthorn/core/platform/process/loop.ts';
import { waitFor } from '../support/process.ts';
import { createTestClock } from '../support/test-clock.ts';

const NEVER = Number.POSITIVE_INFINITY;

/** A loop whose runs end when the test says so. */
function startHeld(options: Partial<LoopOptions> = {}) {
  const runs: PromiseWithResolvers<boolean>[] = [];
  const errors: unknown[] = [];
  const loop = startLoop({
    everyMs: NEVER,
    onError: (err) => void errors.push(err),
    run: () => {
      const run = Promise.withResolvers<boolean>();
      runs.push(run);
      return run.promise;
    },
    ...options,
  });
  return { loop, runs, errors, end: (more = false) => runs.at(-1)!.resolve(more) };
}

/** Resolves when all pending promises have been handled. */
const settled = () => delay(5);

test('it runs at once, or with waitsFirst after a wait or a wake', async () => {
  const atOnce = startHeld();
  const waiting = startHeld({ waitsFirst: true });
  await settled();
  assert.deepEqual([atOnce.runs.length, waiting.runs.length], [1, 0]);
  waiting.loop.wake();
  await settled();
  assert.equal(waiting.runs.length, 1);
});

test('however many wakes come during a run, it runs once more after it', async () => {
  const { loop, runs, end } = startHeld();
  await settled();
  for (let i = 0; i < 3; i += 1) loop.wake();
  await settled();
  assert.equal(runs.length, 1, 'not two at a time');
  end();
  await settled();
  assert.equal(runs.length, 2);
  end();
  await settled();
  assert.equal(runs.length, 2);
});

test('the result of a run decides when the next one begins', async (t) => {
  const table: readonly {
    name: string;
    ends: (run: PromiseWithResolvers<boolean>) => void;
    options: Partial<LoopOptions>;
    wakes: boolean;
    /** The number of runs right after it, and 30 ms later. */
    runs: [number, number];
  }[] = [
    { name: 'true: the next', ends: (run) => run.resolve(true), options: {}, wakes: false, runs: [2, 2] },
    {
      name: 'true: the next, whatever the gap',
      ends: (run) => run.resolve(true),
      options: { gapMs: NEVER },
      wakes: false,
      runs: [2, 2],
    },
    { name: 'false: a wait', ends: (run) => run.resolve(false), options: {}, wakes: false, runs: [1, 1] },
    {
      name: 'false: the wait of everyMs',
      ends: (run) => run.resolve(false),
      options: { everyMs: () => 20 },
      wakes: false,
      runs: [1, 2],
    },
    {
      name: 'an error: the wait of retryMs',
      ends: (run) => run.reject(new Error('no')),
      options: { retryMs: 20 },
      wakes: false,
      runs: [1, 2],
    },
    {
      name: 'an error: the wait of everyMs where there is no other',
      ends: (run) => run.reject(new Error('no')),
      options: { everyMs: 20 },
      wakes: false,
      runs: [1, 2],
    },
    {
      name: 'a wake ends the wait after an error',
      ends: (run) => run.reject(new Error('no')),
      options: { retryMs: 1_000 },
      wakes: true,
      runs: [2, 2],
    },
    {
      name: 'a wake does not end the gap, and is not lost in it',
      ends: (run) => run.resolve(false),
      options: { gapMs: () => 20 },
      wakes: true,
      runs: [1, 2],
    },
  ];
  for (const { name, ends, options, wakes, runs: expected } of table) {
    await t.test(name, async (t) => {
      const clock = createTestClock();
      const held = startHeld({ clock, ...options });
      t.after(() => {
        const stopped = held.loop.stop();
        held.end();
        return stopped;
      });
      await settled();
      ends(held.runs[0]!);
      await settled();
      if (wakes) held.loop.wake();
      await settled();
      assert.equal(held.runs.length, expected[0]);
      clock.advance(30);
      await settled();
      assert.equal(held.runs.length, expected[1]);
    });
  }
});

test('an error is reported and does not end the loop', async () => {
  const { loop, runs, errors, end } = startHeld();
  for (const nth of [1, 2, 3]) {
    await waitFor(() => runs.length === nth);
    runs[nth - 1]!.reject(new Error(`run ${nth}`));
    await waitFor(() => errors.length === nth);
    loop.wake();
  }
  assert.deepEqual(
    errors.map((err) => (err as Error).message),
    ['run 1', 'run 2', 'run 3'],
  );
  await waitFor(() => runs.length === 4);
  end();
  await loop.stop();
});

test('stop waits for the run under way, signals it, and none follows', async () => {
  let told = false;
  const ended = Promise.withResolvers<boolean>();
  let runs = 0;
  const loop = startLoop({
    everyMs: 0,
    onError: assert.fail,
    run(stopping) {
      runs += 1;
      stopping.addEventListener('abort', () => (told = true));
      return ended.promise;
    },
  });
  await settled();
  let stopped = false;
  const stopping = loop.stop().then(() => (stopped = true));
  loop.wake();
  await settled();
  assert.deepEqual([told, stopped], [true, false]);
  ended.resolve(true);
  await stopping;
  await settled();
  assert.equal(runs, 1);
});

test('stop ends a wait and a gap, and a loop that was stopped at once never runs', async () => {
  const waiting = startHeld();
  const inGap = startHeld({ gapMs: NEVER });
  const never = startHeld();
  await never.loop.stop();
  await settled();
  assert.equal(never.runs.length, 0);
  for (const held of [waiting, inGap]) {
    held.end();
    await settled();
    await held.loop.stop();
    assert.equal(held.runs.length, 1);
  }
});

test('a loop with a clock of its own runs when that clock is moved, and when it is woken', async () => {
  const clock = createTestClock();
  let runs = 0;
  const loop = startLoop({
    clock,
    everyMs: 60_000,
    onError: assert.fail,
    run: async () => {
      runs += 1;
    },
  });
  await settled();
  assert.equal(runs, 1);
  clock.advance(59_999);
  await settled();
  assert.equal(runs, 1);
  clock.advance(1);
  await settled();
  assert.equal(runs, 2);
  loop.wake();
  await settled();
  assert.equal(runs, 3);
  clock.advance(60_000);
  await settled();
  assert.equal(runs, 4);
  await loop.stop();
  clock.advance(60_000);
  await settled();
  assert.equal(runs, 4);
});
