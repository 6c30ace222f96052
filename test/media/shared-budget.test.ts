import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSharedBudget } from '@posthorn/core/media/shared-budget.ts';
import fc from 'fast-check';

/** Takes as often as it is allowed; returns the number of times. */
function fill(budget: ReturnType<typeof createSharedBudget>, companyId: number, amount: number): number {
  for (let times = 0; ; times += 1) {
    try {
      budget.take(companyId, amount);
    } catch {
      return times;
    }
  }
}

describe('a budget that companies share', () => {
  it('gives one 15 % when it is alone, and less the more there are', () => {
    const budget = createSharedBudget(1_000);
    const held = [1, 2, 3, 4, 5].map((companyId) => fill(budget, companyId, 1));
    assert.deepEqual(held, [150, 120, 96, 76, 61]);
  });

  it('has a place for the next company, however many hold as much as they can', () => {
    const budget = createSharedBudget(1_000);
    for (let companyId = 1; companyId <= 200; companyId += 1) fill(budget, companyId, 1);
    assert.ok(fill(budget, 201, 1) >= 1);
  });

  it('lets a single holder take more than the whole budget', () => {
    const budget = createSharedBudget(10);
    const release = budget.take(1, 100);
    assert.throws(() => budget.take(2, 1), /too much media/);
    release();
    release();
    assert.equal(budget.used(), 0);
    budget.take(2, 1);
  });

  it('never goes above its limit, and ends where it began', () => {
    const step = fc.record({
      companyId: fc.integer({ min: 1, max: 6 }),
      amount: fc.integer({ min: 0, max: 40 }),
      releases: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const budget = createSharedBudget(100);
        const held: (() => void)[] = [];
        for (const { companyId, amount, releases } of steps) {
          if (releases) held.shift()?.();
          try {
            held.push(budget.take(companyId, amount));
          } catch {}
          assert.ok(budget.used() <= 100);
        }
        for (const release of held) release();
        assert.equal(budget.used(), 0);
      }),
    );
  });
});
