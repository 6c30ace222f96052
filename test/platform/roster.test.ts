import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createRoster } from '@posthorn/core/platform/process/roster.ts';

test('a roster has its members in the order in which they came, and each leaves once', () => {
  const roster = createRoster<string>();
  const leaves = ['a', 'b', 'c', 'd'].map((item) => roster.add(item));
  leaves[1]!();
  leaves[1]!();
  assert.deepEqual(roster.items(), ['a', 'c', 'd']);
  leaves[3]!();
  roster.add('e');
  assert.deepEqual(roster.items(), ['a', 'c', 'e']);
  assert.equal(roster.size, 3);
  for (const item of roster.items()) leaves['abcd'.indexOf(item)]?.();
  assert.deepEqual(roster.items(), ['e']);
});

test('after a major collection a roster keeps none of what left it', () => {
  const grown = Array.from({ length: 6 }, () => oldBytesAfterChurn());
  // A set keeps 5 to 20 MB in most of the rounds.
  assert.ok(Math.max(...grown) < 2_000_000, `${grown.join(', ')} bytes`);
});

/** By how many bytes old objects grow while 20,000 objects of 2.4 kB come and go, 64 at a time, after a major collection. */
function oldBytesAfterChurn(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const roster = createRoster<object>();
  const leaves: (() => void)[] = [];
  const churn = (count: number) => {
    for (let i = 0; i < count; i += 1) {
      leaves[i % 64]?.();
      leaves[i % 64] = roster.add(new Array(300).fill(i));
    }
  };
  churn(1_000);
  collect();
  const before = oldBytes();
  churn(20_000);
  return oldBytes() - before;
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;
}
