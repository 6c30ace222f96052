import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@posthorn/core/platform/clock.ts';
import type { Outbound } from '@posthorn/core/platform/outbound-http.ts';
import type { ClaimedDelivery } from '@posthorn/core/webhooks/delivery/claim-deliveries.ts';
import { createAttempts } from '@posthorn/worker/webhooks/attempts.ts';
import { createEndpoints } from '@posthorn/worker/webhooks/endpoints.ts';

function deliveryOf(webhookId: number, id: number): ClaimedDelivery {
  return {
    id,
    webhookId,
    eventId: 'e',
    attempts: id % 2,
    webhookVersion: '1',
    type: 't',
    instanceId: null,
    body: '{}',
  };
}

test('deliveries that were claimed while the breaker opened are given back, and held by nobody', async () => {
  const returned: number[] = [];
  const attempts = createAttempts({
    clock: systemClock,
    outbound: {
      to() {
        throw new Error('nothing is sent');
      },
    } as unknown as Outbound,
    random: Math.random,
    timeoutMs: 1_000,
    onResult: () => assert.fail('nothing was attempted'),
    onSlow: () => undefined,
    giveBack: (deliveries) => void returned.push(...deliveries.map(({ id }) => id)),
  });
  const endpoint = createEndpoints().get(7, 1);
  endpoint.control.openUntilMs = performance.now() + 60_000;
  endpoint.fresh.push(deliveryOf(7, 2), deliveryOf(7, 4));
  endpoint.retries.push(deliveryOf(7, 3));
  attempts.begin(endpoint);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(returned, [2, 4, 3]);
  assert.deepEqual([endpoint.fresh, endpoint.retries, attempts.inFlight()], [[], [], 0]);
});
