import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createRateLimiter } from '@posthorn/core/limits/take-rate-slots.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { createTestClock } from '../support/test-clock.ts';

describe('the request rate of a company', () => {
  let parts: Parts;
  let company = 100;
  before(async () => {
    parts = await createParts();
  });
  after(() => parts.close());

  /** Counts the statements that a limiter sends. */
  function counted(clock: Clock) {
    const seen = { statements: 0 };
    const db: Sql = {
      query: (query, values) => {
        seen.statements += 1;
        return parts.db.query(query, values);
      },
    };
    return { seen, limiter: createRateLimiter({ db, clock }) };
  }

  test('four processes let exactly 60 of 500 concurrent requests pass', async () => {
    company += 1;
    const clock = createTestClock();
    const processes = Array.from({ length: 4 }, () => counted(clock));
    const slots = await Promise.all(
      Array.from({ length: 500 }, (_, i) => processes[i % 4]!.limiter.take(company, 60)),
    );
    assert.equal(slots.filter((slot) => slot.allowed).length, 60);
    const statements = processes.reduce((sum, { seen }) => sum + seen.statements, 0);
    assert.ok(statements <= 12, `concurrent requests share leases: ${statements} statements`);
  });

  test('never more than the limit pass, for any limit and order of arrival', async () => {
    for (const limit of [1, 7, 60, 250, 1000]) {
      company += 1;
      const clock = createTestClock();
      const limiters = Array.from({ length: 3 }, () => createRateLimiter({ db: parts.db, clock }));
      let allowed = 0;
      for (let round = 0; round < 4; round += 1) {
        const slots = await Promise.all(
          Array.from({ length: limit }, (_, i) => limiters[(i * 7 + round) % 3]!.take(company, limit)),
        );
        allowed += slots.filter((slot) => slot.allowed).length;
      }
      assert.ok(allowed <= limit, `${allowed} of ${limit}`);
      // An idle process holds back a hundredth each.
      assert.ok(allowed >= limit - 3 * Math.floor(limit / 100), `${allowed} of ${limit}`);
    }
  });

  test('a big limit is served from memory: a hundred statements for the whole of it at most', async () => {
    company += 1;
    const { limiter, seen } = counted(createTestClock());
    let allowed = 0;
    for (let i = 0; i < 10_000; i += 1) {
      const slot = limiter.takeCached(company, 10_000) ?? (await limiter.take(company, 10_000));
      if (slot.allowed) allowed += 1;
    }
    assert.equal(allowed, 10_000);
    assert.ok(seen.statements <= 100, `${seen.statements} statements`);
    assert.equal((await limiter.take(company, 10_000)).allowed, false);
  });

  test('a minute found full costs no more statements, and the next minute begins anew', async () => {
    company += 1;
    const clock = createTestClock(new Date('2026-01-01T00:00:10Z'));
    const { limiter, seen } = counted(clock);
    await Promise.all(Array.from({ length: 61 }, () => limiter.take(company, 60)));
    const before = seen.statements;
    const refused = await limiter.take(company, 60);
    assert.deepEqual(refused, {
      allowed: false,
      limit: 60,
      remaining: 0,
      resetAtS: Date.parse('2026-01-01T00:01:00Z') / 1000,
      retryAfterS: 50,
    });
    assert.equal(seen.statements, before);
    clock.advance(50_000);
    assert.equal((await limiter.take(company, 60)).allowed, true);
  });

  test('the remaining requests count down to zero', async () => {
    company += 1;
    const limiter = createRateLimiter({ db: parts.db, clock: createTestClock() });
    const left: number[] = [];
    for (let i = 0; i < 4; i += 1) left.push((await limiter.take(company, 3)).remaining);
    assert.deepEqual(left, [2, 1, 0, 0]);
  });

  test('a process whose clock runs ahead or behind does not open a second minute', async () => {
    company += 1;
    const ahead = createRateLimiter({
      db: parts.db,
      clock: createTestClock(new Date('2026-01-01T00:01:01Z')),
    });
    const behind = createRateLimiter({
      db: parts.db,
      clock: createTestClock(new Date('2026-01-01T00:00:59Z')),
    });
    let allowed = 0;
    for (let i = 0; i < 40; i += 1)
      for (const limiter of [ahead, behind]) if ((await limiter.take(company, 60)).allowed) allowed += 1;
    assert.equal(allowed, 60);
  });

  test('a minute that was full before the clock of the database was set back by hours refuses nobody', async () => {
    company += 1;
    const clock = createTestClock(new Date('2026-01-01T03:00:00Z'));
    const [here, there] = [counted(clock).limiter, counted(clock).limiter];
    for (let i = 0; i < 61; i += 1) await here.take(company, 60);
    assert.equal((await here.take(company, 60)).allowed, false);
    clock.advance(-3 * 3_600_000);
    const slots = [];
    for (const limiter of [here, there]) slots.push(await limiter.take(company, 60));
    assert.deepEqual(
      slots.map(({ allowed, resetAtS }) => ({ allowed, resetAtS })),
      Array(2).fill({ allowed: true, resetAtS: Date.parse('2026-01-01T00:01:00Z') / 1000 }),
    );
    let allowed = 2;
    for (let i = 0; i < 40; i += 1)
      for (const limiter of [here, there]) if ((await limiter.take(company, 60)).allowed) allowed += 1;
    assert.equal(allowed, 60);
  });

  test('a raised limit counts at once', async () => {
    company += 1;
    const limiter = createRateLimiter({ db: parts.db, clock: createTestClock() });
    for (let i = 0; i < 6; i += 1) await limiter.take(company, 5);
    assert.equal((await limiter.take(company, 5)).allowed, false);
    assert.equal((await limiter.take(company, 10)).allowed, true);
  });

  test('when the database does not answer, every waiting request fails and the next one asks again', async () => {
    company += 1;
    let down = true;
    const db: Sql = {
      query: (query, values) =>
        down ? Promise.reject(new Error('connection refused')) : parts.db.query(query, values),
    };
    const limiter = createRateLimiter({ db, clock: createTestClock() });
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => limiter.take(company, 60)));
    assert.ok(outcomes.every((outcome) => outcome.status === 'rejected'));
    down = false;
    assert.equal((await limiter.take(company, 60)).allowed, true);
  });
});
