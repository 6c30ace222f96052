import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import {
  CARD_CVV,
  CARD_NUMBER,
  drainEvents,
  startTestBilling,
  type TestBilling,
  withProfile,
  withSubscription,
} from './billing-harness.ts';
import { paymentEvent, subscriptionEvent } from './provider-payloads.ts';

const PATH = '/v1/billing/subscriptions';
const DAY_MS = 86_400_000;
let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

function assertRefused(
  answer: { status: number; body: Record<string, unknown> },
  status: number,
  code: string,
): void {
  assert.deepEqual([answer.status, answer.body.error_code], [status, code], answer.body.message as string);
  assert.deepEqual(Object.keys(answer.body).sort(), ['error_code', 'message']);
}

describe('GET /v1/billing/subscriptions/current', () => {
  it('answers 404 SUBSCRIPTION_NOT_FOUND to a company that never had one', async () => {
    const company = await billing.company();
    assertRefused(
      await billing.call('GET', `${PATH}/current`, { key: company.apiKey }),
      404,
      'SUBSCRIPTION_NOT_FOUND',
    );
  });

  it('still shows a cancelled one', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    await billing.call('POST', `${PATH}/${subscription.id}/cancel`, {
      key: apiKey,
      body: { immediate: true },
    });
    const { status, body } = await billing.call('GET', `${PATH}/current`, { key: apiKey });
    assert.equal(status, 200);
    assert.equal(body.status, 'cancelled');
  });
});

describe('POST /v1/billing/subscriptions', () => {
  it('starts a trial of 30 days with all its items, and the provider makes the first charge', async () => {
    const company = await withProfile(billing);
    const { status, body } = await billing.call('POST', PATH, {
      key: company.apiKey,
      body: {
        plan_code: 'pro_yearly',
        billing_type: 'boleto',
        card_id: null,
        addons: [
          { code: 'extra_instance', quantity: 3 },
          { code: 'extra_user', quantity: 1 },
        ],
      },
    });
    assert.equal(status, 201);
    assert.equal(body.status, 'trialing');
    assert.equal(body.company_id, company.companyId);
    assert.equal(body.plan_code, 'pro_yearly');
    assert.equal(body.plan_cycle, 'yearly');
    assert.equal(body.billing_type, 'boleto');
    assert.equal(body.cancel_at_period_end, false);
    assert.equal(body.next_plan_code, null);
    assert.equal(Date.parse(body.trial_ends_at), billing.parts.clock.now().getTime() + 30 * DAY_MS);
    assert.equal(body.current_period_end, body.trial_ends_at);
    assert.deepEqual(
      body.items.map((item: Record<string, unknown>) => [
        item.type,
        item.code,
        item.quantity,
        item.unit_price_cents,
        item.scheduled_for_next_cycle,
      ]),
      [
        ['plan', 'pro_yearly', 1, 149_900, false],
        // Monthly add-ons on a yearly invoice: twelve of them.
        ['addon', 'extra_instance', 3, 12 * 1990, false],
        ['addon', 'extra_user', 1, 12 * 990, false],
      ],
    );
    assert.deepEqual((await billing.call('GET', `${PATH}/current`, { key: company.apiKey })).body, body);
    const { data } = (await billing.call('GET', '/v1/billing/charges', { key: company.apiKey })).body;
    assert.equal(data.length, 1);
    assert.equal(data[0].amount_cents, 149_900 + 3 * 12 * 1990 + 12 * 990);
    assert.equal(data[0].status, 'pending');
    assert.equal(data[0].billing_type, 'boleto');
  });

  it('charges a card when there is one', async () => {
    const company = await withProfile(billing);
    const card = await billing.call('POST', '/v1/billing/cards/tokenize', {
      key: company.apiKey,
      body: {
        billing_profile_id: company.profileId,
        number: CARD_NUMBER,
        cvv: CARD_CVV,
        exp_month: 12,
        exp_year: 2035,
      },
    });
    const { status, body } = await billing.call('POST', PATH, {
      key: company.apiKey,
      body: { plan_code: 'starter_monthly', billing_type: 'credit_card', card_id: card.body.id },
    });
    assert.equal(status, 201);
    assert.equal(body.billing_type, 'credit_card');
  });

  it('400 CARD_REQUIRED: a card that was sealed under a lost ENCRYPTION_KEY has to be added anew', async () => {
    const company = await withProfile(billing);
    const card = {
      billing_profile_id: company.profileId,
      number: CARD_NUMBER,
      cvv: CARD_CVV,
      exp_month: 12,
      exp_year: 2035,
    };
    const add = () => billing.call('POST', '/v1/billing/cards/tokenize', { key: company.apiKey, body: card });
    const subscribe = (cardId: number) =>
      billing.call('POST', PATH, {
        key: company.apiKey,
        body: { plan_code: 'starter_monthly', billing_type: 'credit_card', card_id: cardId },
      });
    const { body: lost } = await add();
    const sealed = createCipher('ef'.repeat(32)).seal('tok_1');
    await billing.parts.db.query('UPDATE billing.cards SET token = $2 WHERE id = $1', [lost.id, sealed]);
    const refused = await subscribe(lost.id);
    assert.deepEqual([refused.status, refused.body.error_code], [400, 'CARD_REQUIRED'], refused.body.message);
    assert.equal((await subscribe((await add()).body.id)).status, 201);
  });

  const VALID = { plan_code: 'starter_monthly', billing_type: 'pix' };
  const REFUSED: [string, unknown, string][] = [
    ['an unknown plan', { ...VALID, plan_code: 'gold' }, 'PLAN_NOT_FOUND'],
    ['no plan', { billing_type: 'pix' }, 'PLAN_NOT_FOUND'],
    ['an unknown billing type', { ...VALID, billing_type: 'cash' }, 'INVALID_BILLING_TYPE'],
    ['no billing type', { plan_code: 'starter_monthly' }, 'INVALID_BILLING_TYPE'],
    ['a card payment without a card', { ...VALID, billing_type: 'credit_card' }, 'CARD_REQUIRED'],
    ['a card that nobody has', { ...VALID, billing_type: 'credit_card', card_id: 999_999 }, 'CARD_REQUIRED'],
    ['a plan of a wrong type', { ...VALID, plan_code: 5 }, 'INVALID_JSON'],
    ['add-ons that are no list', { ...VALID, addons: 'extra_user' }, 'INVALID_JSON'],
    ['an add-on without a code', { ...VALID, addons: [{ quantity: 1 }] }, 'INVALID_JSON'],
    ['an unknown add-on', { ...VALID, addons: [{ code: 'gold', quantity: 1 }] }, 'ADDON_NOT_FOUND'],
    ['a quantity of 0', { ...VALID, addons: [{ code: 'extra_user', quantity: 0 }] }, 'INVALID_QUANTITY'],
    ['a negative quantity', { ...VALID, addons: [{ code: 'extra_user', quantity: -1 }] }, 'INVALID_QUANTITY'],
    ['half a unit', { ...VALID, addons: [{ code: 'extra_user', quantity: 1.5 }] }, 'INVALID_QUANTITY'],
    [
      'more units than there may be',
      { ...VALID, addons: [{ code: 'extra_user', quantity: 51 }] },
      'INVALID_QUANTITY',
    ],
    [
      'more units in two lines than there may be',
      {
        ...VALID,
        addons: [
          { code: 'extra_user', quantity: 30 },
          { code: 'extra_user', quantity: 30 },
        ],
      },
      'INVALID_QUANTITY',
    ],
  ];
  for (const [what, body, code] of REFUSED)
    it(`refuses ${what} with 400 ${code}, and nothing is made`, async () => {
      const company = await withProfile(billing);
      assertRefused(await billing.call('POST', PATH, { key: company.apiKey, body }), 400, code);
      const { rows } = await billing.parts.db.query(
        'SELECT FROM billing.provider_intents WHERE company_id = $1 AND kind = $2',
        [company.companyId, 'subscription'],
      );
      assert.equal(rows.length, 0);
    });

  it('validates add-ons atomically: one bad line, and none is there', async () => {
    const company = await withProfile(billing);
    const body = {
      ...VALID,
      addons: [
        { code: 'extra_instance', quantity: 1 },
        { code: 'gold', quantity: 1 },
      ],
    };
    assertRefused(await billing.call('POST', PATH, { key: company.apiKey, body }), 400, 'ADDON_NOT_FOUND');
    const { rows } = await billing.parts.db.query(
      'SELECT FROM billing.subscription_items WHERE company_id = $1',
      [company.companyId],
    );
    assert.equal(rows.length, 0);
  });

  it('answers 400 INVALID_JSON for a broken body', async () => {
    const company = await withProfile(billing);
    assertRefused(await billing.call('POST', PATH, { key: company.apiKey, raw: '{' }), 400, 'INVALID_JSON');
  });

  it('answers 400 PROFILE_REQUIRED without a profile', async () => {
    const company = await billing.company();
    assertRefused(
      await billing.call('POST', PATH, { key: company.apiKey, body: VALID }),
      400,
      'PROFILE_REQUIRED',
    );
  });

  it('answers 400 CARD_REQUIRED for another company’s card', async () => {
    const [mine, theirs] = [await withProfile(billing), await withProfile(billing)];
    const card = await billing.call('POST', '/v1/billing/cards/tokenize', {
      key: theirs.apiKey,
      body: {
        billing_profile_id: theirs.profileId,
        number: CARD_NUMBER,
        cvv: CARD_CVV,
        exp_month: 1,
        exp_year: 2035,
      },
    });
    assertRefused(
      await billing.call('POST', PATH, {
        key: mine.apiKey,
        body: { ...VALID, billing_type: 'credit_card', card_id: card.body.id },
      }),
      400,
      'CARD_REQUIRED',
    );
  });

  it('answers 409 SUBSCRIPTION_EXISTS while one is live, also when many come at once', async () => {
    const company = await withProfile(billing);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => billing.call('POST', PATH, { key: company.apiKey, body: VALID })),
    );
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [
      201,
      ...Array.from({ length: 7 }, () => 409),
    ]);
    assertRefused(answers.find((answer) => answer.status === 409)!, 409, 'SUBSCRIPTION_EXISTS');
    const { rows } = await billing.parts.db.query(
      `SELECT FROM billing.simulated_subscriptions JOIN billing.provider_intents ON external_reference = reference::text
       WHERE company_id = $1`,
      [company.companyId],
    );
    assert.equal(rows.length, 1);
  });

  it('takes a new one after a cancellation', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    await billing.call('POST', `${PATH}/${subscription.id}/cancel`, {
      key: apiKey,
      body: { immediate: true },
    });
    const again = await billing.call('POST', PATH, { key: apiKey, body: VALID });
    assert.equal(again.status, 201);
    assert.notEqual(again.body.id, subscription.id);
  });
});

describe('POST /v1/billing/subscriptions/{id}/change-plan', () => {
  it('schedules the plan and shows it, and the next payment swaps it', async () => {
    const { apiKey, subscription } = await withSubscription(billing, {
      addons: [{ code: 'extra_user', quantity: 2 }],
    });
    const path = `${PATH}/${subscription.id}/change-plan`;
    const { status, body } = await billing.call('POST', path, {
      key: apiKey,
      body: { new_plan_code: 'pro_yearly' },
    });
    assert.equal(status, 202);
    assert.deepEqual(body, { status: 'scheduled', new_plan_code: 'pro_yearly' });
    const scheduled = (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body;
    assert.equal(scheduled.plan_code, 'starter_monthly');
    assert.equal(scheduled.status, 'trialing');
    assert.deepEqual(
      [scheduled.next_plan_code, scheduled.next_plan_display_name, scheduled.next_plan_cycle],
      ['pro_yearly', 'Pro', 'yearly'],
    );
    const event = paymentEvent('PAYMENT_RECEIVED', subscription, { at: billing.parts.clock.now() });
    await billing.deliver(event);
    await drainEvents(billing);
    const swapped = (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body;
    assert.equal(swapped.plan_code, 'pro_yearly');
    assert.equal(swapped.status, 'active');
    assert.equal(swapped.next_plan_code, null);
    assert.deepEqual(
      swapped.items.map((item: Record<string, unknown>) => [item.code, item.quantity, item.unit_price_cents]),
      [
        ['pro_yearly', 1, 149_900],
        ['extra_user', 2, 12 * 990],
      ],
    );
  });

  it('answers its errors', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const change = (id: unknown, body: unknown) =>
      billing.call('POST', `${PATH}/${id}/change-plan`, { key: apiKey, body });
    for (const id of ['abc', '0', '-1', '1.5', '99999999999'])
      assertRefused(await change(id, { new_plan_code: 'pro_monthly' }), 400, 'INVALID_ID');
    assertRefused(await change(subscription.id, {}), 400, 'INVALID_JSON');
    assertRefused(await change(subscription.id, { new_plan_code: 7 }), 400, 'INVALID_JSON');
    assertRefused(
      await billing.call('POST', `${PATH}/${subscription.id}/change-plan`, { key: apiKey, raw: '{"a"' }),
      400,
      'INVALID_JSON',
    );
    assertRefused(
      await change(subscription.id, { new_plan_code: 'starter_monthly' }),
      400,
      'ALREADY_ON_PLAN',
    );
    assertRefused(await change(subscription.id, { new_plan_code: 'gold' }), 404, 'PLAN_NOT_FOUND');
    assertRefused(await change(999_999, { new_plan_code: 'pro_monthly' }), 404, 'SUBSCRIPTION_NOT_FOUND');
    const theirs = await withSubscription(billing);
    assertRefused(
      await change(theirs.subscription.id, { new_plan_code: 'pro_monthly' }),
      404,
      'SUBSCRIPTION_NOT_FOUND',
    );
    await billing.call('POST', `${PATH}/${subscription.id}/cancel`, {
      key: apiKey,
      body: { immediate: true },
    });
    assertRefused(
      await change(subscription.id, { new_plan_code: 'pro_monthly' }),
      400,
      'SUBSCRIPTION_NOT_ACTIVE',
    );
  });
});

describe('POST /v1/billing/subscriptions/{id}/cancel', () => {
  const CASES: [string, unknown, 'cancelled' | 'trialing'][] = [
    ['nothing', undefined, 'trialing'],
    ['an empty object', {}, 'trialing'],
    ['immediate false', { immediate: false }, 'trialing'],
    ['immediate true', { immediate: true, reason: 'too dear' }, 'cancelled'],
    ['at_period_end false over immediate false', { immediate: false, at_period_end: false }, 'cancelled'],
    ['at_period_end true over immediate true', { immediate: true, at_period_end: true }, 'trialing'],
  ];
  for (const [what, body, status] of CASES)
    it(`with ${what} leaves it ${status}`, async () => {
      const { apiKey, companyId, subscription } = await withSubscription(billing);
      const answer = await billing.call('POST', `${PATH}/${subscription.id}/cancel`, { key: apiKey, body });
      assert.equal(answer.status, 204);
      assert.equal(answer.text, '');
      const now = (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body;
      assert.equal(now.status, status);
      assert.equal(now.cancel_at_period_end, status === 'trialing');
      const { rows } = await billing.parts.db.query<{ cancel_reason: string }>(
        'SELECT cancel_reason FROM billing.subscriptions WHERE company_id = $1',
        [companyId],
      );
      assert.equal(rows[0]!.cancel_reason, (body as { reason?: string })?.reason ?? 'user_request');
    });

  it('answers its errors, and 204 again for one that is cancelled', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const cancel = (id: unknown, body: unknown = { immediate: true }) =>
      billing.call('POST', `${PATH}/${id}/cancel`, { key: apiKey, body });
    assertRefused(await cancel('abc'), 400, 'INVALID_ID');
    assertRefused(await cancel(999_999), 404, 'SUBSCRIPTION_NOT_FOUND');
    assertRefused(
      await cancel((await withSubscription(billing)).subscription.id),
      404,
      'SUBSCRIPTION_NOT_FOUND',
    );
    assertRefused(await cancel(subscription.id, { immediate: 'yes' }), 400, 'INVALID_JSON');
    assert.equal((await cancel(subscription.id)).status, 204);
    assert.equal((await cancel(subscription.id)).status, 204);
  });

  it('refuses a suspended one with 400 SUBSCRIPTION_NOT_ACTIVE: nobody cancels out of a chargeback', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const at = billing.parts.clock.now();
    await billing.deliver(paymentEvent('PAYMENT_CHARGEBACK_REQUESTED', subscription, { at }));
    await drainEvents(billing);
    assert.equal((await billing.call('GET', `${PATH}/current`, { key: apiKey })).body.status, 'suspended');
    for (const body of [{}, { immediate: true }])
      assertRefused(
        await billing.call('POST', `${PATH}/${subscription.id}/cancel`, { key: apiKey, body }),
        400,
        'SUBSCRIPTION_NOT_ACTIVE',
      );
  });
});

describe('the items of a subscription', () => {
  const add = (key: string, id: unknown, body: unknown) =>
    billing.call('POST', `${PATH}/${id}/items`, { key, body });

  it('keep their prices when the catalog changes, until the plan is changed', async (t) => {
    const { apiKey, subscription } = await withSubscription(billing, {
      addons: [{ code: 'extra_user', quantity: 2 }],
    });
    const raise = (byCents: number) =>
      billing.parts.db.query(
        `WITH plans AS (UPDATE billing.plans SET price_cents = price_cents + $1)
         UPDATE billing.addons SET price_cents = price_cents + $1 WHERE code = 'extra_user'`,
        [byCents],
      );
    /** The lines that the company sees, and what the provider charges for the next invoice. */
    const terms = async () => {
      while (await runDueTask(billing.billing));
      const { items } = (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body;
      const payments = await billing.billing.provider.listPayments(subscription.asaas_subscription_id);
      return {
        prices: items.map((item: { unit_price_cents: number }) => item.unit_price_cents),
        next: payments.find(({ isPending }) => isPending)!.valueCents,
      };
    };
    await raise(1_000);
    t.after(() => raise(-1_000));
    assert.equal((await add(apiKey, subscription.id, { addon_code: 'extra_instance' })).status, 202);
    const before = { prices: [4_990, 990, 1_990], next: 4_990 + 2 * 990 + 1_990 };
    assert.deepEqual(await terms(), before);
    const at = billing.parts.clock.now();
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at }));
    await drainEvents(billing);
    assert.deepEqual(await terms(), before);
    const change = { key: apiKey, body: { new_plan_code: 'pro_monthly' } };
    assert.equal((await billing.call('POST', `${PATH}/${subscription.id}/change-plan`, change)).status, 202);
    assert.equal((await terms()).next, 15_990 + 2 * 1_990 + 1_990);
    billing.parts.clock.advance(1_000);
    const later = billing.parts.clock.now();
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at: later }));
    await drainEvents(billing);
    assert.deepEqual((await terms()).prices, [15_990, 1_990, 1_990]);
  });

  it('adds an add-on: active at once, billed by the next invoice', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const { status, body } = await add(apiKey, subscription.id, { addon_code: 'extra_user', quantity: 2 });
    assert.equal(status, 202);
    assert.deepEqual(body, {
      id: body.id,
      subscription_id: subscription.id,
      addon_code: 'extra_user',
      quantity: 2,
      scheduled_for_next_cycle: true,
    });
    const line = async () =>
      (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body.items.find(
        (item: { id: number }) => item.id === body.id,
      );
    assert.equal((await line()).scheduled_for_next_cycle, true);
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at: billing.parts.clock.now() }));
    await drainEvents(billing);
    assert.equal((await line()).scheduled_for_next_cycle, false);
    assert.equal((await line()).quantity, 2);
  });

  it('counts an omitted quantity and 0 as 1, and adds to the line that is there', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    assert.equal((await add(apiKey, subscription.id, { addon_code: 'extra_user' })).body.quantity, 1);
    assert.equal(
      (await add(apiKey, subscription.id, { addon_code: 'extra_user', quantity: 0 })).body.quantity,
      2,
    );
    assert.equal(
      (await add(apiKey, subscription.id, { addon_code: 'extra_user', quantity: 3 })).body.quantity,
      5,
    );
    const { items } = (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body;
    assert.equal(items.length, 2);
  });

  it('answers the errors of adding', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    assertRefused(await add(apiKey, 'abc', { addon_code: 'extra_user' }), 400, 'INVALID_ID');
    assertRefused(await add(apiKey, subscription.id, { addon_code: 5 }), 400, 'INVALID_JSON');
    assertRefused(await add(apiKey, subscription.id, { addon_code: 'gold' }), 404, 'ADDON_NOT_FOUND');
    assertRefused(await add(apiKey, subscription.id, {}), 404, 'ADDON_NOT_FOUND');
    for (const quantity of [51, -1, 1.5])
      assertRefused(
        await add(apiKey, subscription.id, { addon_code: 'extra_user', quantity }),
        400,
        'INVALID_QUANTITY',
      );
    assert.equal(
      (await add(apiKey, subscription.id, { addon_code: 'extra_user', quantity: 50 })).status,
      202,
    );
    assertRefused(await add(apiKey, subscription.id, { addon_code: 'extra_user' }), 400, 'INVALID_QUANTITY');
    assertRefused(await add(apiKey, 999_999, { addon_code: 'extra_user' }), 404, 'SUBSCRIPTION_NOT_FOUND');
    await billing.call('POST', `${PATH}/${subscription.id}/cancel`, {
      key: apiKey,
      body: { immediate: true },
    });
    assertRefused(
      await add(apiKey, subscription.id, { addon_code: 'extra_user' }),
      404,
      'SUBSCRIPTION_NOT_FOUND',
    );
  });

  it('adds nothing that no invoice would bill: 400 SUBSCRIPTION_NOT_ACTIVE once it ends with its period', async () => {
    const { apiKey, subscription } = await withSubscription(billing, {
      addons: [{ code: 'extra_user', quantity: 1 }],
    });
    await billing.call('POST', `${PATH}/${subscription.id}/cancel`, { key: apiKey });
    assertRefused(
      await add(apiKey, subscription.id, { addon_code: 'extra_user' }),
      400,
      'SUBSCRIPTION_NOT_ACTIVE',
    );
    const { items } = (await billing.call('GET', `${PATH}/current`, { key: apiKey })).body;
    assert.deepEqual(
      items.map((item: { quantity: number }) => item.quantity),
      [1, 1],
    );
  });

  it('removes an add-on, once', async () => {
    const { apiKey, subscription } = await withSubscription(billing, {
      addons: [{ code: 'extra_user', quantity: 2 }],
    });
    const item = subscription.items[1];
    const remove = (id: unknown, itemId: unknown) =>
      billing.call('DELETE', `${PATH}/${id}/items/${itemId}`, { key: apiKey });
    assertRefused(await remove('abc', item.id), 400, 'INVALID_ID');
    assertRefused(await remove(subscription.id, 'abc'), 400, 'INVALID_ID');
    assertRefused(await remove(subscription.id, 999_999), 404, 'ITEM_NOT_FOUND');
    assertRefused(await remove(subscription.id, subscription.items[0].id), 404, 'ITEM_NOT_FOUND');
    const theirs = await withSubscription(billing, { addons: [{ code: 'extra_user', quantity: 1 }] });
    assertRefused(
      await remove(theirs.subscription.id, theirs.subscription.items[1].id),
      404,
      'ITEM_NOT_FOUND',
    );
    assert.equal((await remove(subscription.id, item.id)).status, 204);
    assertRefused(await remove(subscription.id, item.id), 404, 'ITEM_NOT_FOUND');
    assert.equal((await billing.call('GET', `${PATH}/current`, { key: apiKey })).body.items.length, 1);
  });

  it('sends the provider the price of the next invoice', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    await add(apiKey, subscription.id, { addon_code: 'extra_user', quantity: 2 });
    const { runDueTask } = await import('@posthorn/core/billing/run-provider-tasks.ts');
    while (await runDueTask(billing.billing));
    const { data } = (await billing.call('GET', '/v1/billing/charges', { key: apiKey })).body;
    assert.equal(data.length, 1);
    assert.equal(data[0].amount_cents, 4990 + 2 * 990);
  });
});

describe('a subscription that the provider deleted', () => {
  it('is cancelled, with no call of ours', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    await billing.deliver(subscriptionEvent(subscription, { at: billing.parts.clock.now() }));
    await drainEvents(billing);
    assert.equal((await billing.call('GET', `${PATH}/current`, { key: apiKey })).body.status, 'cancelled');
  });
});
