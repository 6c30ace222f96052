import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCoalescer } from '@posthorn/core/platform/database/coalesce.ts';
import { createLanes } from '@posthorn/core/platform/database/lanes.ts';
import fc from 'fast-check';
import { waitFor } from '../support/process.ts';

/** `a3` is the third of a. */
const laneOf = (item: string) => item[0]!;
const countOf = (lane: string, taken: readonly string[]) =>
  taken.filter((item) => laneOf(item) === lane).length;

function filled(lengths: Readonly<Record<string, number>>) {
  const lanes = createLanes<string>(laneOf);
  for (const [lane, length] of Object.entries(lengths))
    for (let nth = 0; nth < length; nth += 1) lanes.add(`${lane}${nth}`);
  return lanes;
}

test('an input behind a thousand of another lane is in the next batch', () => {
  const lanes = filled({ a: 1_000, b: 3 });
  const taken = lanes.take(128);
  assert.deepEqual([countOf('a', taken), countOf('b', taken)], [125, 3]);
  assert.equal(lanes.size(), 875);
});

test('all that wait get equal parts, and those without room have the next turn', () => {
  const lanes = filled({ a: 100, b: 100, c: 100 });
  assert.deepEqual(
    ['a', 'b', 'c'].map((lane) => countOf(lane, lanes.take(0))),
    [0, 0, 0],
  );
  const first = lanes.take(2);
  const second = lanes.take(2);
  assert.deepEqual([...first, ...second].map(laneOf), ['a', 'b', 'c', 'a']);
  assert.equal(lanes.take(90).length, 90);
});

test('nothing is lost, and each lane keeps its order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 0, max: 7 }))),
      (steps) => {
        const lanes = createLanes<string>(laneOf);
        const added: string[] = [];
        const taken: string[] = [];
        for (const [lane, take] of steps) {
          added.push(`${lane}${added.length}`);
          lanes.add(added.at(-1)!);
          if (take < 4) taken.push(...lanes.take(take));
          assert.equal(lanes.size(), added.length - taken.length);
        }
        taken.push(...lanes.take(added.length));
        for (const lane of 'abcd') {
          const of = (items: readonly string[]) => items.filter((item) => laneOf(item) === lane);
          assert.deepEqual(of(taken), of(added));
        }
      },
    ),
  );
});

test('a flood of one company does not keep the inputs of others from the next batch', async () => {
  const batches: string[][] = [];
  const written = Promise.withResolvers<void>();
  const coalescer = createCoalescer<string, string>({
    maxBatch: 10,
    sharedBy: laneOf,
    async run(batch) {
      batches.push(batch);
      await written.promise;
      return batch;
    },
  });
  const flood = Array.from({ length: 50 }, (_, nth) => coalescer.push(`a${nth}`));
  await waitFor(() => batches.length === 1);
  const other = coalescer.push('b0');
  written.resolve();
  assert.equal(await other, 'b0');
  assert.equal(
    batches.findIndex((batch) => batch.includes('b0')),
    1,
  );
  await Promise.all([...flood, coalescer.idle()]);
  assert.deepEqual(
    batches.flat().filter((item) => item !== 'b0'),
    Array.from({ length: 50 }, (_, nth) => `a${nth}`),
  );
});

test('a batch that a deadlock ends is run again one by one', async () => {
  const batches: string[][] = [];
  const coalescer = createCoalescer<string, string>({
    maxBatch: 10,
    sharedBy: laneOf,
    async run(batch) {
      batches.push(batch);
      if (batch.length > 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
      return batch;
    },
  });
  const inputs = ['a0', 'a1', 'b0', 'b1'];
  assert.deepEqual(await Promise.all(inputs.map((input) => coalescer.push(input))), inputs);
  await coalescer.idle();
  assert.ok(batches.some((batch) => batch.length > 1));
});
