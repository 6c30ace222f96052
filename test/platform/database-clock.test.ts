import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clockCheck,
  clockRemark,
  type Measurement,
  offsetAfter,
} from '@posthorn/core/platform/database/database-clock.ts';
import { checkReadiness } from '@posthorn/core/platform/process/readiness.ts';
import fc from 'fast-check';

const measurement = (askedMs: number, upMs: number, downMs: number, trueOffsetMs: number): Measurement => ({
  askedMs,
  answeredMs: askedMs + upMs + downMs,
  databaseMs: askedMs + upMs + trueOffsetMs,
});

test('the measured clock is off by no more than the shortest round trip, however the answers stall', () => {
  const trip = fc.integer({ min: 0, max: 30_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(trip, trip), { minLength: 1 }), fc.integer(), (trips, trueOffsetMs) => {
      let offsetMs: number | null = null;
      let shortestMs = Number.POSITIVE_INFINITY;
      for (const [upMs, downMs] of trips) {
        offsetMs = offsetAfter(offsetMs, measurement(1_000, upMs, downMs, trueOffsetMs));
        shortestMs = Math.min(shortestMs, upMs + downMs);
        assert.ok(Math.abs(offsetMs - trueOffsetMs) <= shortestMs);
      }
    }),
  );
});

test('a database whose clock is set, or another database after a failover, is followed at once', () => {
  const before = offsetAfter(null, measurement(0, 1, 1, 5_000));
  assert.ok(Math.abs(offsetAfter(before, measurement(10, 1, 1, -85_000)) - -85_000) <= 2);
});

test('/ready reports a clock that is more than a second off, and is ready', async () => {
  for (const [aheadMs, says] of [
    [0, 'ok'],
    [1_000, 'ok'],
    [90_040, "ok, but the clock of this machine is 90.0 s ahead of the database's"],
    [-1_500, "ok, but the clock of this machine is 1.5 s behind the database's"],
  ] as const) {
    const clock = { now: () => new Date(), sleep: async () => undefined, ownAheadMs: () => aheadMs };
    assert.equal(clockRemark(clock) === null, says === 'ok');
    const report = await checkReadiness({ checks: { clock: clockCheck(clock) }, isDraining: () => false });
    assert.deepEqual(report, { ready: true, checks: { clock: says } });
  }
});
