import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUuid, messageIdOf, networkIdOf, newId, sentIdOf } from '@posthorn/core/platform/ids.ts';

const COUNT = 100_000;

test('ids ascend strictly, are UUIDs of version 7, and carry the time at which they were made', () => {
  const startedAtMs = Date.now();
  const ids = Array.from({ length: COUNT }, newId);
  const endedAtMs = Date.now();
  for (const [i, id] of ids.entries()) {
    if (i > 0) assert.ok(id > ids[i - 1]!, `${id} comes after ${ids[i - 1]}`);
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.ok(isUuid(id));
    const atMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
    assert.ok(atMs >= startedAtMs && atMs <= endedAtMs, `${id} was made then`);
  }
});

test('each id has random bits of its own, also when the random bytes of many are drawn together', () => {
  const tails = Array.from({ length: COUNT }, () => newId().slice(-10));
  // 40 bits: among so many a few may coincide by chance, but a reused pool would repeat all of them.
  assert.ok(new Set(tails).size > COUNT - 20);
});

test('ids ascend while the clock stops or is set back', (t) => {
  const atMs = Date.now() + 60_000;
  t.mock.timers.enable({ apis: ['Date'], now: atMs });
  const ids = Array.from({ length: 1_000 }, newId);
  t.mock.timers.setTime(atMs - 30_000);
  ids.push(...Array.from({ length: 1_000 }, newId));
  t.mock.timers.setTime(atMs + 1);
  ids.push(newId());
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
});

test('our network ids are distinguished from those of 32 digits that phones draw', () => {
  const id = newId();
  assert.equal(sentIdOf(networkIdOf(id)), id);
  const drawn = [
    'A5C0FFEE00112233445566778899AABB',
    // With the version of our ids, but a time in which we sent nothing.
    'AC1234567890712389ABCDEF01234567',
    '3EB0C0FFEE12345678AB',
    networkIdOf(id).toLowerCase(),
  ];
  for (const each of drawn) assert.equal(sentIdOf(each), null, each);
  assert.notEqual(messageIdOf(drawn[0]!), null);
});
