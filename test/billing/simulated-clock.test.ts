import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SIMULATED_CLOCK_MAX_S } from '@posthorn/contract/limits.ts';
import { startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';

describe('the clock of a company at the simulated provider', () => {
  let billing: TestBilling;
  before(async () => {
    billing = await startTestBilling();
  });
  after(() => billing.close());

  const advance = (key: string, seconds: number) =>
    billing.call('POST', '/v1/billing/simulator/clock', { key, body: { advance_seconds: seconds } });

  it('is ten years ahead at most, in however many steps: 409 CONFLICT', async () => {
    const { apiKey } = await withSubscription(billing);
    const day = 86_400;
    assert.equal((await advance(apiKey, day)).status, 200);
    const { status, body } = await advance(apiKey, SIMULATED_CLOCK_MAX_S);
    assert.deepEqual([status, body.error_code], [409, 'CONFLICT']);
    const last = await advance(apiKey, SIMULATED_CLOCK_MAX_S - day);
    assert.deepEqual([last.status, last.body.offset_seconds], [200, SIMULATED_CLOCK_MAX_S]);
    assert.equal((await advance(apiKey, 1)).status, 409);
    assert.equal((await advance(apiKey, 0)).status, 200);
  });

  it('takes the clocks of others nowhere', async () => {
    const [mine, theirs] = [await withSubscription(billing), await withSubscription(billing)];
    assert.equal((await advance(mine.apiKey, SIMULATED_CLOCK_MAX_S)).status, 200);
    assert.equal((await advance(theirs.apiKey, 0)).body.offset_seconds, 0);
  });
});
