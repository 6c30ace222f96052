import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { relativeTime } from '../../console/components/relative-time.ts';
import { onTick } from '../../console/components/tick.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const HOUR_MS = 3_600_000;

const after = (ms: number, language = 'en') => relativeTime(new Date(NOW.getTime() + ms), NOW, language);

describe('the time since something', () => {
  test('is shown in the largest unit that it fills', () => {
    assert.equal(after(0), 'now');
    assert.equal(after(-5_000), '5 sec. ago');
    assert.equal(after(-3 * HOUR_MS, 'pt'), 'há 3 h');
    assert.equal(after(-400 * 24 * HOUR_MS), '1 yr. ago');
  });

  test('names no day of the calendar: 47 hours are not "yesterday", and not "tomorrow"', () => {
    assert.equal(after(-47 * HOUR_MS), '1 day ago');
    assert.equal(after(47 * HOUR_MS), 'in 1 day');
    assert.equal(after(-60 * 24 * HOUR_MS), '60 days ago');
  });

  test('advances while somebody looks, by one clock', (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    let ticks = 0;
    const leave = [onTick(() => (ticks += 1)), onTick(() => (ticks += 1))];
    t.mock.timers.tick(10_000);
    assert.equal(ticks, 2);
    for (const each of leave) each();
    t.mock.timers.tick(60_000);
    assert.equal(ticks, 2);
  });
});
