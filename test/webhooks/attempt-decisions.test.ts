import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import { OutboundError } from '@posthorn/core/platform/http/outbound-http.ts';
import {
  judgeAges,
  nextOf,
  planBegin,
  resultOf,
  takeAll,
} from '@posthorn/worker/webhooks/attempt-decisions.ts';
import type { EndpointConfig } from '@posthorn/worker/webhooks/endpoint-config.ts';
import { createEndpoints, type Endpoint, type HeldDelivery } from '@posthorn/worker/webhooks/endpoints.ts';
import type { PostAnswer } from '@posthorn/worker/webhooks/post-attempt.ts';

const NOW_MS = 100_000;
const CONFIG = { webhookUrl: 'https://example.com/', version: '7' } as EndpointConfig;

function delivery(id: number, more: Partial<HeldDelivery> = {}): HeldDelivery {
  const leasedUntilMs = Number.POSITIVE_INFINITY;
  return {
    id,
    attempts: 0,
    isEarly: false,
    type: 't',
    instanceId: null,
    beginUntilMs: NOW_MS,
    leasedUntilMs,
    ...more,
  } as HeldDelivery;
}

function endpointWith(more: Partial<Endpoint>): Endpoint {
  return Object.assign(createEndpoints().get(7, 1), { config: CONFIG }, more);
}

test('an endpoint starts only attempts that its state allows', () => {
  const broken = { ...endpointWith({}).control, openUntilMs: NOW_MS + 1 };
  const probed = { ...endpointWith({}).control, openUntilMs: NOW_MS };
  const table: [
    name: string,
    more: Partial<Endpoint>,
    isStopped: boolean,
    begins: boolean,
    allowed: number,
  ][] = [
    ['as many as the turn has', {}, false, true, 4],
    ['with those under way', { inFlight: 3 }, false, true, 7],
    ['no more than its slots', { inFlight: 7 }, false, true, 8],
    ['one, to see whether it has recovered', { control: probed }, false, true, 1],
    ['nothing while its breaker is open', { control: broken }, false, false, 0],
    ['nothing without its configuration', { config: null }, false, false, 0],
    ['nothing at the end', {}, true, false, 0],
  ];
  for (const [name, more, isStopped, begins, allowed] of table) {
    const endpoint = endpointWith({ ...more, fresh: [delivery(2)], retries: [delivery(1)] });
    const plan = planBegin(endpoint, 4, isStopped, NOW_MS);
    assert.deepEqual([plan.config !== null, plan.allowed], [begins, allowed], name);
    assert.deepEqual(
      plan.released.map(({ id }) => id),
      begins ? [] : [2, 1],
      name,
    );
    assert.equal(takeAll(endpoint).length, begins ? 2 : 0, `${name}: what is released waits here no longer`);
  }
});

test('a delivery that waited too long for its lease is released, and the others stay', () => {
  const late = { beginUntilMs: NOW_MS - 1 };
  const endpoint = endpointWith({
    fresh: [delivery(1, late), delivery(2, late), delivery(3)],
    retries: [delivery(4, late), delivery(5)],
  });
  const { released } = planBegin(endpoint, 4, false, NOW_MS);
  assert.deepEqual(
    [released, takeAll(endpoint)].map((list) => list.map(({ id }) => id)),
    [
      [1, 2, 4],
      [3, 5],
    ],
  );
});

test('retries that are not due are released once their endpoint no longer catches up', () => {
  const retries = [delivery(1), delivery(2, { isEarly: true }), delivery(3, { isEarly: true })];
  const endpoint = endpointWith({ fresh: [delivery(4)], retries });
  endpoint.catchUp.window = 1;
  assert.deepEqual(planBegin(endpoint, 4, false, NOW_MS).released, []);
  endpoint.catchUp.window = 0;
  assert.deepEqual(
    [planBegin(endpoint, 4, false, NOW_MS).released, takeAll(endpoint)].map((list) =>
      list.map(({ id }) => id),
    ),
    [
      [2, 3],
      [4, 1],
    ],
  );
});

test('first attempts go before retries, with one retry after seven of them', () => {
  const fresh = Array.from({ length: 9 }, (_, i) => delivery(i));
  const endpoint = endpointWith({ fresh, retries: [delivery(100), delivery(101), delivery(102)] });
  const order = Array.from({ length: 13 }, () => nextOf(endpoint)?.id);
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 100, 7, 8, 101, 102, undefined]);
});

test('attempts become slow after a second and are cut off when their time is up', () => {
  const attempts = [85_000, 85_001, 99_000, 99_001, 100_000].map((startedAt) => ({ startedAt }));
  const { late, slow } = judgeAges(attempts, 15_000, NOW_MS);
  assert.deepEqual(
    [late, slow].map((list) => list.map(({ startedAt }) => startedAt)),
    [[85_000], [85_001, 99_000]],
  );
});

test('an attempt ends in the outcome of its answer or failure', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const ok: PostAnswer = {
    statusCode: 200,
    retryAfter: undefined,
    response: 'ok',
    latencyMs: 12.6,
    err: null,
  };
  const cut = new OutboundError('connection', 'cut off');
  const timeout = new OutboundError('timeout', 'no complete answer');
  const table: [
    name: string,
    answer: Partial<PostAnswer>,
    attempts: number,
    errorClass: ErrorClass,
    retryS: number | null,
    response: string,
  ][] = [
    ['delivered', {}, 0, '', null, 'ok'],
    ['delivered, though its body was cut off', { err: cut }, 0, '', null, 'ok'],
    ['its body came too late', { err: timeout }, 0, 'timeout', 5, 'ok'],
    ['no connection', { statusCode: null, err: cut, response: '' }, 0, 'connection', 5, 'cut off'],
    ['an error of the receiver', { statusCode: 500 }, 1, 'server_5xx', 60, 'ok'],
    ['it asks for more time', { statusCode: 503, retryAfter: '90' }, 1, 'server_5xx', 90, 'ok'],
    [
      'it asks for a thousand years',
      { statusCode: 503, retryAfter: '31536000000' },
      1,
      'server_5xx',
      86_400,
      'ok',
    ],
    ['the last attempt', { statusCode: 500 }, 7, 'server_5xx', null, 'ok'],
    ['gone for good', { statusCode: 410 }, 0, 'permanent_4xx', null, 'ok'],
  ];
  for (const [name, answer, attempts, errorClass, retryS, response] of table) {
    const result = resultOf(
      CONFIG,
      delivery(9, { attempts }),
      { ...ok, ...answer },
      { at, random: () => 0.5 },
    );
    assert.deepEqual(
      result,
      {
        deliveryId: 9,
        attempt: attempts + 1,
        webhookUrl: CONFIG.webhookUrl,
        webhookVersion: CONFIG.version,
        eventType: 't',
        instanceId: null,
        statusCode: answer.statusCode === undefined ? 200 : answer.statusCode,
        errorClass,
        response,
        latencyMs: 13,
        endedAt: at,
        nextAttemptAt: retryS === null ? null : new Date(at.getTime() + retryS * 1_000),
        earlyFrom: answer.retryAfter === undefined ? null : new Date(at.getTime() + retryS! * 1_000),
      },
      name,
    );
  }
});

test('a failed attempt sets the time before which the next one is not made early', () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const table: [name: string, retryAfter: string | undefined, isEarly: boolean, earlyS: number | null][] = [
    ['at any time', undefined, false, null],
    ['the receiver asked for a second', '1', false, 1],
    ['it asked for an hour', '3600', false, 3_600],
    ['the attempt was early itself', undefined, true, 60],
    ['it was, and the receiver asked for a second', '1', true, 60],
  ];
  for (const [name, retryAfter, isEarly, earlyS] of table) {
    const answer: PostAnswer = { statusCode: 503, retryAfter, response: '', latencyMs: 1, err: null };
    const result = resultOf(CONFIG, delivery(9, { attempts: 1, isEarly }), answer, { at, random: () => 0.5 });
    assert.equal(result.earlyFrom?.getTime() ?? null, earlyS && at.getTime() + earlyS * 1_000, name);
  }
});
