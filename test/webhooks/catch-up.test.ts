import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import {
  attemptsAhead,
  newCatchUp,
  noteAttempt,
  noteClaim,
  windowLeft,
} from '@posthorn/worker/webhooks/catch-up.ts';
import { isBroken, learn, newEndpointControl } from '@posthorn/worker/webhooks/endpoint-control.ts';

/** An endpoint as its attempts and claims show it, in seconds. */
function endpoint() {
  const catchUp = newCatchUp();
  const at = (
    atS: number,
    errorClass: ErrorClass,
    more: { isEarly?: boolean; sinceS?: number; hasRetries?: boolean } = {},
  ) =>
    noteAttempt(catchUp, {
      errorClass,
      isEarly: more.isEarly ?? false,
      startedAtMs: (more.sinceS ?? atS) * 1_000,
      nowMs: atS * 1_000,
      hasRetries: more.hasRetries ?? true,
    });
  return {
    catchUp,
    at,
    /** Away from 10 s to 60 s, after some successful time. */
    wasAway() {
      at(1, '', { hasRetries: false });
      for (const s of [10, 20, 59]) at(s, 'server_5xx');
      return this;
    },
    grow(atS: number, window: number) {
      while (catchUp.window < window) at(atS, '', { isEarly: true });
    },
  };
}

test('an endpoint gets retries that are not due only once it has shown that it is back', () => {
  const table: [name: string, attempts: [atS: number, errorClass: ErrorClass][], window: number][] = [
    [
      'nothing has failed',
      [
        [1, ''],
        [2, ''],
      ],
      0,
    ],
    [
      'a single failure',
      [
        [1, ''],
        [2, 'server_5xx'],
        [60, ''],
      ],
      0,
    ],
    [
      'several within a moment',
      [
        [1, ''],
        [2, 'server_5xx'],
        [3.9, 'connection'],
        [3.95, ''],
      ],
      0,
    ],
    [
      'failures with a success between them',
      [
        [1, ''],
        [2, 'timeout'],
        [9, ''],
        [10, 'timeout'],
        [19, ''],
      ],
      0,
    ],
    [
      'refusals of payloads',
      [
        [1, ''],
        [2, 'permanent_4xx'],
        [9, 'payload_rejected'],
        [19, ''],
      ],
      0,
    ],
    [
      'failures for two seconds, but no success',
      [
        [1, ''],
        [2, 'timeout'],
        [9, 'tls'],
        [10, 'permanent_4xx'],
      ],
      0,
    ],
    [
      'failures for two seconds, and a success',
      [
        [1, ''],
        [2, 'timeout'],
        [3, 'tls'],
        [4, ''],
      ],
      1,
    ],
  ];
  for (const [name, attempts, window] of table) {
    const { catchUp, at } = endpoint();
    for (const [atS, errorClass] of attempts) at(atS, errorClass, { hasRetries: false });
    assert.equal(catchUp.window, window, name);
    assert.equal(attemptsAhead(catchUp, 60_000) > 0, window > 0, name);
  }
});

test('a process that is new to an endpoint treats its waiting deliveries as left from before', () => {
  for (const hasRetries of [true, false]) {
    const { catchUp, at } = endpoint();
    at(1, '', { hasRetries });
    at(2, '');
    assert.equal(catchUp.window > 0, hasRetries);
  }
});

test('its window grows by one with each success, and a claim is worth a quarter of it', () => {
  const { catchUp, at, grow } = endpoint().wasAway();
  at(60, '');
  assert.equal(windowLeft(catchUp, 0), 1);
  grow(61, 8);
  assert.deepEqual([windowLeft(catchUp, 6), windowLeft(catchUp, 7)], [2, 0]);
  for (let i = 0; i < 100; i += 1) at(62, '');
  assert.equal(catchUp.window, 64);
});

test('a failure takes three quarters of the window, and the last one ends it until a pause is over', () => {
  const { catchUp, at, grow } = endpoint().wasAway();
  const pauses: number[] = [];
  let nowS = 60;
  at(nowS, '');
  for (let pause = 0; pause < 8; pause += 1) {
    at(nowS, 'connection', { isEarly: true });
    const sinceS = nowS;
    while (catchUp.window === 0) {
      nowS += 1;
      at(nowS, '');
    }
    assert.equal(catchUp.window, 1);
    pauses.push(nowS - sinceS);
  }
  assert.deepEqual(pauses, [2, 4, 8, 16, 32, 64, 120, 120]);
  grow(nowS, 20);
  at(nowS, 'redirect', { isEarly: true });
  assert.equal(catchUp.window, 5, 'any failure of an early attempt counts');
  at(nowS, 'permanent_4xx');
  assert.equal(catchUp.window, 5, 'of others only what concerns the endpoint');
  at(nowS, 'rate_limited');
  assert.equal(catchUp.window, 1);
});

test('the last two attempts of a delivery are made early for an endpoint that has answered some times in a row', () => {
  const { catchUp, at, grow } = endpoint().wasAway();
  at(60, '');
  assert.equal(attemptsAhead(catchUp, 60_000), 5);
  grow(60, 7);
  assert.equal(attemptsAhead(catchUp, 60_000), 5);
  // Nothing else is left, so it is not claimed again and again.
  noteClaim(catchUp, { retries: 7, ahead: 5 }, 0, 63_000);
  assert.equal(attemptsAhead(catchUp, 100_000), 0);
  grow(100, 8);
  assert.equal(attemptsAhead(catchUp, 100_000), 7);
});

test('it has caught up when nothing is left two seconds after its return', () => {
  const { catchUp, at, grow } = endpoint().wasAway();
  at(60, '');
  grow(60, 16);
  noteClaim(catchUp, { retries: 16, ahead: 7 }, 16, 60_100);
  assert.equal(attemptsAhead(catchUp, 60_100), 7, 'a full claim: there is more');
  noteClaim(catchUp, { retries: 16, ahead: 7 }, 3, 60_200);
  assert.equal(attemptsAhead(catchUp, 61_199), 0);
  assert.equal(attemptsAhead(catchUp, 61_200), 7, 'what failed a moment ago may not have been recorded');
  noteClaim(catchUp, { retries: 16, ahead: 7 }, 0, 62_000);
  assert.deepEqual([catchUp.window, attemptsAhead(catchUp, 99_000)], [0, 0]);
  at(70, 'server_5xx');
  at(71, '');
  assert.equal(catchUp.window, 0, 'a failure from now on is one of many');
});

test('a delivery whose attempt began before the return and fails after it waits like the others', () => {
  const { catchUp, at, grow } = endpoint().wasAway();
  at(60, '');
  grow(60, 16);
  noteClaim(catchUp, { retries: 16, ahead: 7 }, 0, 63_000);
  assert.equal(catchUp.window, 0);
  at(70, 'timeout', { sinceS: 55 });
  assert.equal(catchUp.window, 1);
  const away = endpoint().wasAway();
  away.at(60, '');
  away.at(61, 'connection', { isEarly: true });
  away.at(70, 'timeout', { sinceS: 55 });
  assert.equal(away.catchUp.window, 0, 'not if it has failed again since');
});

test('an endpoint that hangs is tried the sooner the shorter it has been away', () => {
  const control = newEndpointControl();
  const faultAt = (atS: number) =>
    learn(control, { errorClass: 'timeout', latencyMs: 15_000, nowMs: atS * 1_000 });
  for (let i = 0; i < 5; i += 1) faultAt(100);
  const table: [awayS: number, waitS: number][] = [
    [0, 4],
    [90, 4.5],
    [600, 30],
    [2_400, 120],
    [86_400, 120],
  ];
  for (const [awayS, waitS] of table) {
    const nowS = 100 + awayS;
    if (awayS > 0) faultAt(nowS);
    assert.ok(isBroken(control, (nowS + waitS) * 1_000 - 1), `${awayS} s: closed too early`);
    assert.ok(!isBroken(control, (nowS + waitS) * 1_000), `${awayS} s: closed too late`);
  }
});
