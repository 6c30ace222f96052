import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planShare } from '@posthorn/worker/ownership/fair-share.ts';
import fc from 'fast-check';

const SHARDS = 1_024;
const OWNERS = 200;
const range = (length: number) => Array.from({ length }, (_, i) => i);

describe('the plan of shares', () => {
  const fleets = fc.record({
    shards: fc.integer({ min: 1, max: SHARDS }),
    workers: fc.uniqueArray(fc.integer({ min: 1, max: 10_000 }), { minLength: 2, maxLength: OWNERS }),
  });

  it('lowers nobody when a worker dies: only its shards find new owners', () => {
    fc.assert(
      fc.property(fleets, fc.nat(), ({ shards, workers }, nth) => {
        const left = workers.filter((_, i) => i !== nth % workers.length);
        const quotaAmong = (live: number[], self: number) =>
          planShare({ shards, workers: live, limited: [], held: {}, free: [] }, self).quota;
        for (const self of left) assert.ok(quotaAmong(left, self) >= quotaAmong(workers, self));
      }),
    );
  });

  it('deals each free shard to one worker, up to its quota', () => {
    fc.assert(
      fc.property(fleets, ({ shards, workers }) => {
        const seen = { shards, workers, limited: [], held: {}, free: range(shards) };
        const dealt = workers.flatMap((self) => planShare(seen, self).mine);
        assert.deepEqual(
          dealt.toSorted((a, b) => a - b),
          range(shards),
        );
      }),
    );
  });

  it('counts on no worker of the release before once there are shards that it does not know', () => {
    const [older, newer] = [1, 2];
    const seen = {
      shards: 64,
      workers: [older, newer],
      limited: [older],
      held: { [older]: 16 },
      free: range(48),
    };
    assert.deepEqual(planShare(seen, newer), { quota: 64, mine: range(48) });
    assert.equal(planShare({ ...seen, shards: 32 }, newer).quota, 16);
  });
});
