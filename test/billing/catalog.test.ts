import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startTestBilling, type TestBilling } from './billing-harness.ts';

let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

describe('GET /health and /ready', () => {
  it('answers 200 whatever the database does', async () => {
    assert.deepEqual((await billing.call('GET', '/health')).body, { status: 'ok', service: 'billing' });
    const ready = await billing.call('GET', '/ready');
    assert.equal(ready.status, 200);
    assert.deepEqual(ready.body, { status: 'ok', service: 'billing', checks: {} });
  });

  it('gives metrics of its own', async () => {
    const answer = await fetch(`${billing.url}/metrics`);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /http_request_duration_seconds_count\{route="health.health"/);
  });
});

describe('GET /v1/billing/plans', () => {
  it('needs no credentials and is ordered by sort_order', async () => {
    const { status, body } = await billing.call('GET', '/v1/billing/plans');
    assert.equal(status, 200);
    const orders = body.data.map((plan: { sort_order: number }) => plan.sort_order);
    assert.deepEqual(
      orders,
      [...orders].sort((a, b) => a - b),
    );
    assert.deepEqual(Object.keys(body.data[0]).sort(), [
      'code',
      'currency',
      'cycle',
      'display_name',
      'display_subtitle',
      'price_cents',
      'product_code',
      'sort_order',
      'trial_days',
    ]);
  });

  for (const cycle of ['monthly', 'yearly'])
    it(`has at least two ${cycle} plans in BRL, with a trial of 30 days, when asked for that cycle`, async () => {
      const { status, body } = await billing.call('GET', `/v1/billing/plans?cycle=${cycle}`);
      assert.equal(status, 200);
      assert.ok(body.data.length >= 2);
      for (const plan of body.data) {
        assert.equal(plan.cycle, cycle);
        assert.equal(plan.currency, 'BRL');
        assert.equal(plan.trial_days, 30);
        assert.ok(plan.price_cents > 0);
      }
    });

  it('refuses a cycle that does not exist', async () => {
    const { status, body } = await billing.call('GET', '/v1/billing/plans?cycle=weekly');
    assert.equal(status, 400);
    assert.equal(body.error_code, 'BAD_REQUEST');
  });

  it('offers no plan that was withdrawn', async () => {
    const all = (await billing.call('GET', '/v1/billing/plans')).body.data.length;
    await billing.parts.db.query(`UPDATE billing.plans SET offered = false WHERE code = 'business_yearly'`);
    assert.equal((await billing.call('GET', '/v1/billing/plans')).body.data.length, all - 1);
    await billing.parts.db.query(`UPDATE billing.plans SET offered = true WHERE code = 'business_yearly'`);
  });
});

describe('GET /v1/billing/addons', () => {
  it('needs no credentials and has at least two', async () => {
    const { status, body } = await billing.call('GET', '/v1/billing/addons');
    assert.equal(status, 200);
    assert.ok(body.data.length >= 2);
    assert.deepEqual(Object.keys(body.data[0]).sort(), [
      'code',
      'currency',
      'cycle',
      'description',
      'display_name',
      'max_quantity',
      'price_cents',
      'unit_label',
    ]);
  });
});

describe('authentication', () => {
  const PATHS: [string, string][] = [
    ['GET', '/v1/billing/profile'],
    ['POST', '/v1/billing/profile'],
    ['PATCH', '/v1/billing/profile'],
    ['GET', '/v1/billing/subscriptions/current'],
    ['POST', '/v1/billing/subscriptions'],
    ['POST', '/v1/billing/subscriptions/1/change-plan'],
    ['POST', '/v1/billing/subscriptions/1/cancel'],
    ['POST', '/v1/billing/subscriptions/1/items'],
    ['DELETE', '/v1/billing/subscriptions/1/items/1'],
    ['GET', '/v1/billing/cards'],
    ['POST', '/v1/billing/cards/tokenize'],
    ['PATCH', '/v1/billing/cards/1/default'],
    ['DELETE', '/v1/billing/cards/1'],
    ['GET', '/v1/billing/charges'],
    ['GET', '/v1/billing/admin/metrics'],
    ['GET', '/v1/billing/admin/webhook-events'],
    ['POST', '/v1/billing/admin/webhook-events/1/reprocess'],
    ['POST', '/v1/billing/simulator/actions'],
    ['POST', '/v1/billing/simulator/clock'],
  ];

  for (const [method, path] of PATHS)
    it(`${method} ${path} answers 401 in the full envelope without credentials`, async () => {
      const { status, body } = await billing.call(method, path);
      assert.equal(status, 401);
      assert.equal(body.error_code, 'UNAUTHORIZED');
      assert.deepEqual(Object.keys(body).sort(), ['error', 'error_code', 'message', 'trace_id']);
    });

  it('accepts a key and a JWT of the main service, and recognizes a key in the wrong header', async () => {
    const company = await billing.company();
    const path = '/v1/billing/cards';
    assert.equal((await billing.call('GET', path, { key: company.apiKey })).status, 200);
    assert.equal((await billing.call('GET', path, { jwt: await billing.jwtOf(company) })).status, 200);
    const wrong = await billing.call('GET', path, { jwt: company.apiKey });
    assert.equal(wrong.status, 401);
    assert.equal(wrong.body.error_code, 'TOKEN_INVALID');
  });

  it('refuses a suspended company with 403 in the full envelope', async () => {
    const company = await billing.company();
    await billing.parts.db.query(`UPDATE companies SET status = 'suspended' WHERE id = $1`, [
      company.companyId,
    ]);
    const { status, body } = await billing.call('GET', '/v1/billing/cards', { key: company.apiKey });
    assert.equal(status, 403);
    assert.equal(body.error_code, 'COMPANY_SUSPENDED');
    assert.ok(body.trace_id);
  });

  it('counts requests a minute per company', async () => {
    const company = await billing.company();
    await billing.parts.db.query('UPDATE companies SET requests_per_minute = 2 WHERE id = $1', [
      company.companyId,
    ]);
    const answers = [];
    for (let i = 0; i < 3; i += 1)
      answers.push(await billing.call('GET', '/v1/billing/cards', { key: company.apiKey }));
    assert.deepEqual(
      answers.map((answer) => answer.status),
      [200, 200, 429],
    );
    assert.equal(answers[2]!.headers.get('x-ratelimit-limit'), '2');
    assert.ok(Number(answers[2]!.headers.get('retry-after')) >= 1);
  });

  it('may read the identity of the caller, and writes none of messaging’s tables', async () => {
    const { db } = billing.billing;
    await db.query('SELECT count(*) FROM public.companies');
    for (const statement of [
      `UPDATE public.companies SET name = 'x'`,
      'DELETE FROM public.users',
      'SELECT * FROM public.messages',
    ])
      await assert.rejects(db.query(statement), { code: '42501' });
  });
});
