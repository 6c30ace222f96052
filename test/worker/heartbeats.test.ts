import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  afterHeartbeat,
  isSteady,
  type Moment,
  NO_HEARTBEATS,
  provesLife,
} from '@posthorn/worker/ownership/heartbeats.ts';

/** A second of both clocks. */
const at = (s: number): Moment => ({ monotonicMs: s * 1_000, wallMs: 1_000_000 + s * 1_000 });

test('a heartbeat proves life for five seconds after it was sent, by the clock that shows more time', () => {
  const beats = afterHeartbeat(NO_HEARTBEATS, at(10), at(11));
  const table: [now: Moment, isAlive: boolean][] = [
    [at(11), true],
    [at(14.999), true],
    [at(15), false],
    // The machine slept: the monotonic clock did not move.
    [{ monotonicMs: at(11).monotonicMs, wallMs: at(60).wallMs }, false],
    // Somebody set the wall clock back.
    [{ monotonicMs: at(60).monotonicMs, wallMs: at(5).wallMs }, false],
  ];
  for (const [now, isAlive] of table) assert.equal(provesLife(beats, now), isAlive, JSON.stringify(now));
  assert.equal(provesLife(NO_HEARTBEATS, at(0)), false);
});

test('a worker that has been beating for three seconds without a gap is steady', () => {
  let beats = NO_HEARTBEATS;
  for (const s of [10, 11, 12]) beats = afterHeartbeat(beats, at(s), at(s));
  assert.deepEqual([isSteady(beats, at(12.999)), isSteady(beats, at(13))], [false, true]);
});

test('a gap of more than two seconds, also in an answer that came late, begins the count anew', () => {
  const first = afterHeartbeat(NO_HEARTBEATS, at(10), at(10));
  const late = afterHeartbeat(first, at(10.5), at(12.5));
  assert.deepEqual([isSteady(late, at(13.4)), isSteady(late, at(13.5))], [false, true]);
  const inTime = afterHeartbeat(first, at(11.9), at(12));
  assert.equal(isSteady(inTime, at(13)), true);
});
