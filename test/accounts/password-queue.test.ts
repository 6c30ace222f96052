import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFairQueue, type PasswordAsker } from '@posthorn/core/accounts/passwords/password-queue.ts';
import fc from 'fast-check';

function stranger(key: string): PasswordAsker {
  return { key, isTrusted: false };
}
const known = (key: string): PasswordAsker => ({ key, isTrusted: true });

/** A queue of names, and the names that were given up. */
function queueOf(capacity: number) {
  const lost: string[] = [];
  return {
    lost,
    queue: createFairQueue<string>({ capacity: () => capacity, lost: (job) => lost.push(job) }),
  };
}

describe('the queue for passwords', () => {
  it('serves a known one within two turns, however many strangers wait', () => {
    const { queue } = queueOf(1_000);
    for (let i = 0; i < 400; i += 1) queue.push(`wrong ${i}`, stranger(`address ${i}`));
    assert.ok(queue.push('owner', known('user 1')));
    assert.ok([queue.next(), queue.next()].includes('owner'));
  });

  it('has room for the known while the strangers’ half is full', () => {
    const { queue, lost } = queueOf(50);
    for (let i = 0; i < 400; i += 1) queue.push(`wrong ${i}`, stranger(`address ${i}`));
    assert.equal(queue.size(), 50);
    assert.ok(queue.push('owner', known('user 1')));
    assert.deepEqual(lost, []);
  });

  it('serves an address that asks once right after one that asks 400 times', () => {
    const { queue } = queueOf(1_000);
    for (let i = 0; i < 400; i += 1) queue.push(`wrong ${i}`, stranger('hostile'));
    queue.push('honest', stranger('other'));
    assert.ok([queue.next(), queue.next()].includes('honest'));
  });

  it('takes room from the holder of the most room', () => {
    const { queue, lost } = queueOf(10);
    for (let i = 0; i < 20; i += 1) queue.push(`wrong ${i}`, stranger('hostile'));
    assert.equal(queue.size(), 10);
    assert.ok(queue.push('honest', stranger('other')));
    assert.deepEqual(lost, ['wrong 9']);
    assert.equal(queue.push('wrong again', stranger('hostile')), false);
  });

  it('lets strangers have every fourth turn while known ones ask without end', () => {
    const { queue } = queueOf(100);
    for (let i = 0; i < 100; i += 1) queue.push(`known ${i}`, known(`user ${i}`));
    queue.push('honest', stranger('other'));
    assert.ok([1, 2, 3, 4].map(() => queue.next()).includes('honest'));
  });

  it('loses nothing and invents nothing, for any order of requests', () => {
    const step = fc.record({
      key: fc.integer({ min: 0, max: 4 }),
      isTrusted: fc.boolean(),
      take: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), fc.integer({ min: 1, max: 8 }), (steps, capacity) => {
        const { queue, lost } = queueOf(capacity);
        const taken: string[] = [];
        let accepted = 0;
        for (const [i, { key, isTrusted, take }] of steps.entries()) {
          if (queue.push(`job ${i}`, { key: String(key), isTrusted })) accepted += 1;
          const next = take ? queue.next() : undefined;
          if (next) taken.push(next);
        }
        for (let next = queue.next(); next; next = queue.next()) taken.push(next);
        assert.equal(taken.length + lost.length, accepted);
        assert.equal(new Set([...taken, ...lost]).size, accepted);
      }),
    );
  });
});
