import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Balancer, startBalancer } from '../support/balancer.ts';
import { type RunningProcess, waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { IS_WHOLE, sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { type ConnectedInstance, connectInstances, proveExactlyOnce } from './traffic.ts';
import { useSystem } from './use-system.ts';

const isWhole = process.env.POSTHORN_FULL === '1' || IS_WHOLE;
const REQUESTS = isWhole ? 5_000 : sized(300, 1_500, 5_000);
/** The share of requests to billing; the others are sends. */
const BILLING_SHARE = 1 / 3;
const INSTANCES = 10;
const PAUSE_MS = 100;
/** The delay of production: long enough for many looks of the balancer at /ready, some of which may be slow. */
const env: Record<string, string> = isWhole
  ? { NODE_ENV: 'production', BILLING_SIMULATED: 'true' }
  : { SHUTDOWN_DELAY_SECONDS: '5' };

test(`a rolling restart of all roles under ${REQUESTS} requests behind a balancer that never tries again: none fails, each message goes out once`, async (t) => {
  const system = await useSystem(t, { messaging: 2, billing: 2, workers: 2, env });
  const messaging = await startBalancer(system.urls);
  const billing = await startBalancer(system.billingUrls);
  t.after(() => Promise.all([messaging.close(), billing.close()]));
  const { company, instances } = await connectInstances(system, INSTANCES);
  let restarted = false;
  let passed = 0;
  const refused: string[] = [];
  const note = (answer: { status: number; text: string }, expected: number) => {
    if (answer.status === expected) passed += 1;
    else refused.push(`${answer.status} ${answer.text}`);
    return answer.status === expected;
  };
  const goesOn = () => !t.signal.aborted && (!restarted || passed < REQUESTS);

  const askBilling = async () => {
    while (goesOn()) {
      note(await ask(billing, company, 'GET', '/v1/billing/charges'), 200);
      await delay(PAUSE_MS / (BILLING_SHARE * INSTANCES));
    }
  };
  const sendAll = async (instance: ConnectedInstance): Promise<[string, string[]]> => {
    const accepted: string[] = [];
    for (let nth = 0; goesOn(); nth += 1) {
      // At most two messages a contact, so that the guard, which is on, lets them pass.
      const to = `5531${String(instances.indexOf(instance) * 100_000 + Math.floor(nth / 2)).padStart(9, '0')}`;
      const answer = await ask(messaging, company, 'POST', `/v1/instances/${instance.id}/messages/text`, {
        to,
        text: `message ${nth}`,
      });
      if (note(answer, 202)) accepted.push(JSON.parse(answer.text).message_id);
      await delay(PAUSE_MS);
    }
    return [instance.id, accepted];
  };
  const load = Promise.all([Promise.all(instances.map(sendAll)), askBilling()]);
  await waitFor(() => passed > REQUESTS / 20, 60_000);
  await restartInTurn(system, { messaging, billing }).finally(() => {
    restarted = true;
  });
  const [accepted] = await load;

  assert.deepEqual([...refused, ...messaging.failures, ...billing.failures], []);
  assert.ok(passed >= REQUESTS);
  await proveExactlyOnce(system, instances, new Map(accepted));
});

/**
 * Restarts one process of each role after the other; each gets requests from the balancer again before the next one
 * stops.
 */
async function restartInTurn(
  system: System,
  balancers: { messaging: Balancer; billing: Balancer },
): Promise<void> {
  const restart = async (running: RunningProcess, comesBack: () => boolean) => {
    assert.equal(await running.kill('SIGTERM'), 0, running.output().slice(-2_000));
    await running.restart();
    await waitFor(comesBack, 60_000);
  };
  for (const nth of [0, 1])
    await Promise.all([
      restart(system.messaging[nth]!, () => balancers.messaging.isIn(system.urls[nth]!)),
      restart(system.billing[nth]!, () => balancers.billing.isIn(system.billingUrls[nth]!)),
      restart(system.workers[nth]!, () => true),
    ]);
}

async function ask(
  balancer: Balancer,
  company: SeededCompany,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(balancer.url + path, {
    method,
    headers: {
      'x-api-key': company.apiKey,
      ...(body ? { 'content-type': 'application/json', 'idempotency-key': randomUUID() } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: answer.status, text: await answer.text() };
}
