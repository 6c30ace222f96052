import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { test } from 'node:test';
import { type Outbound, OutboundError } from '@posthorn/core/platform/http/outbound-http.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { type AttemptsDeps, createAttempts } from '@posthorn/worker/webhooks/attempts.ts';
import type { EndpointConfig } from '@posthorn/worker/webhooks/endpoint-config.ts';
import { createEndpoints, type HeldDelivery } from '@posthorn/worker/webhooks/endpoints.ts';
import type { AttemptResult } from '@posthorn/worker/webhooks/record-attempts.ts';
import { waitFor } from '../support/process.ts';

function deliveryOf(webhookId: number, id: number): HeldDelivery {
  return {
    id,
    webhookId,
    eventId: 'e',
    attempts: id % 2,
    isEarly: false,
    webhookVersion: '1',
    type: 't',
    instanceId: null,
    traceId: null,
    body: '{}',
    beginUntilMs: Number.POSITIVE_INFINITY,
    leasedUntilMs: Number.POSITIVE_INFINITY,
    claimedBy: null,
  };
}

/** Refuses every attempt before anything is sent. */
function createRefused(told: Partial<AttemptsDeps>) {
  return createAttempts({
    clock: systemClock,
    outbound: {
      to() {
        throw new OutboundError('blocked', 'private addresses are not reached');
      },
    } as unknown as Outbound,
    random: Math.random,
    timeoutMs: 1_000,
    isAlive: () => true,
    onResult: () => assert.fail('nothing was attempted'),
    onSlow: () => undefined,
    release: () => assert.fail('nothing was released'),
    ...told,
  });
}

const CONFIG: EndpointConfig = {
  version: '1',
  url: new URL('http://127.0.0.1/'),
  path: '/',
  webhookUrl: 'http://127.0.0.1/',
  headers: [],
  key: createSecretKey(Buffer.from('key')),
  earlierKeys: [],
  unusable: null,
};

test('deliveries that were claimed while the breaker opened are released, and held by nobody', async () => {
  const returned: number[] = [];
  const attempts = createRefused({
    release: (deliveries) => void returned.push(...deliveries.map(({ id }) => id)),
  });
  const endpoint = createEndpoints().get(7, 1);
  endpoint.config = CONFIG;
  endpoint.control.openUntilMs = performance.now() + 60_000;
  endpoint.fresh.push(deliveryOf(7, 2), deliveryOf(7, 4));
  endpoint.retries.push(deliveryOf(7, 3));
  attempts.begin(endpoint);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(returned, [2, 4, 3]);
  assert.deepEqual([endpoint.fresh, endpoint.retries, attempts.inFlight()], [[], [], 0]);
});

test('so are those that wait while their webhook is deleted', async () => {
  const returned: number[] = [];
  const attempts = createRefused({
    release: (deliveries) => void returned.push(deliveries.length),
  });
  const endpoint = createEndpoints().get(7, 1);
  for (let id = 0; id < 40; id += 1) endpoint.fresh.push(deliveryOf(7, id));
  attempts.begin(endpoint);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(returned, [40], 'in one statement');
  assert.equal(endpoint.fresh.length, 0);
});

test('a backlog that is refused without being sent leaves every other endpoint its turn', async () => {
  const results: AttemptResult[] = [];
  const attempts = createRefused({ onResult: (_endpoint, result) => void results.push(result) });
  const endpoints = createEndpoints();
  for (let id = 1; id <= 9; id += 1) {
    const endpoint = endpoints.get(id, 1);
    endpoint.config = CONFIG;
    for (let i = 0; i < (id === 1 ? 200 : 1); i += 1) endpoint.fresh.push(deliveryOf(id, id * 1_000 + i));
    attempts.begin(endpoint);
  }
  await waitFor(() => results.length === 208);
  assert.deepEqual(new Set(results.map(({ errorClass }) => errorClass)), new Set(['blocked']));
  const others = results.flatMap(({ deliveryId }, index) => (deliveryId >= 2_000 ? [index] : []));
  assert.ok(others.at(-1)! < 50, `the last of the others came after ${others.at(-1)} results`);
  assert.equal(attempts.inFlight(), 0);
});

test('a delivery that waited too long for its lease is released, not attempted', async () => {
  const returned: number[] = [];
  const results: number[] = [];
  const attempts = createRefused({
    release: (deliveries) => void returned.push(...deliveries.map(({ id }) => id)),
    onResult: (_endpoint, { deliveryId }) => void results.push(deliveryId),
  });
  const endpoint = createEndpoints().get(7, 1);
  endpoint.config = CONFIG;
  const late = { beginUntilMs: performance.now() - 1 };
  endpoint.fresh.push({ ...deliveryOf(7, 2), ...late }, deliveryOf(7, 4));
  endpoint.retries.push({ ...deliveryOf(7, 1), ...late }, deliveryOf(7, 3));
  attempts.begin(endpoint);
  await waitFor(() => results.length === 2);
  assert.deepEqual(
    [returned, results],
    [
      [2, 1],
      [4, 3],
    ].flat(0),
  );
});

test('first attempts go first, but one retry after every seven of them', async () => {
  const results: AttemptResult[] = [];
  const attempts = createRefused({ onResult: (_endpoint, result) => void results.push(result) });
  const endpoint = createEndpoints().get(7, 1);
  endpoint.config = CONFIG;
  for (let i = 0; i < 20; i += 1) endpoint.fresh.push(deliveryOf(7, 2 * i));
  for (let i = 0; i < 5; i += 1) endpoint.retries.push(deliveryOf(7, 2 * i + 1));
  attempts.begin(endpoint);
  await waitFor(() => results.length === 25);
  const places = results.flatMap(({ attempt }, place) => (attempt > 1 ? [place] : []));
  assert.deepEqual(places, [7, 15, 22, 23, 24]);
});
