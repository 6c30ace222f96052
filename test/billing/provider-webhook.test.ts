import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import {
  drainEvents,
  startTestBilling,
  type TestBilling,
  WEBHOOK_SECRET,
  withSubscription,
} from './billing-harness.ts';
import { paymentEvent, subscriptionEvent } from './provider-payloads.ts';

const PATH = '/v1/webhooks/asaas';
let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

const post = (token: string | undefined, request: { body?: unknown; raw?: string }) =>
  billing.call('POST', PATH, {
    ...request,
    headers: token === undefined ? {} : { 'asaas-access-token': token },
  });

const eventRow = async (id: string) => {
  const { rows } = await billing.parts.db.query<{
    id: number;
    status: string;
    attempts: number;
    next_attempt_at: Date | null;
    last_error: string | null;
    payload: object;
  }>('SELECT * FROM billing.provider_events WHERE provider_event_id = $1', [id]);
  return rows[0];
};

const stateOf = async (key: string) =>
  (await billing.call('GET', '/v1/billing/subscriptions/current', { key })).body.status;

describe('POST /v1/webhooks/asaas', () => {
  it('stores an event, answers 200, and processes it afterwards', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const event = paymentEvent('PAYMENT_RECEIVED', subscription, { at: billing.parts.clock.now() });
    const answer = await billing.deliver(event);
    assert.equal(answer.status, 200);
    assert.equal((await eventRow(event.id))!.status, 'pending');
    assert.equal(await stateOf(apiKey), 'trialing');
    await drainEvents(billing);
    assert.equal((await eventRow(event.id))!.status, 'processed');
    assert.equal(await stateOf(apiKey), 'active');
  });

  it('answers a known event 200 again and does not process it again', async () => {
    const { subscription } = await withSubscription(billing);
    const event = paymentEvent('PAYMENT_CREATED', subscription, { at: billing.parts.clock.now() });
    await billing.deliver(event);
    await drainEvents(billing);
    assert.equal((await billing.deliver(event)).status, 200);
    assert.equal((await eventRow(event.id))!.status, 'processed');
    assert.equal((await eventRow(event.id))!.attempts, 1);
  });

  for (const [what, token] of Object.entries({
    'no token': undefined,
    'an empty token': '',
    'a wrong token': 'nonsense',
    'a token that begins right': WEBHOOK_SECRET.slice(0, -1),
    'a token that goes on': `${WEBHOOK_SECRET}x`,
  }))
    it(`answers 401 to ${what}, before it looks at the body`, async () => {
      for (const request of [{ body: { id: 'evt_401', event: 'PAYMENT_CREATED' } }, { raw: 'nonsense' }]) {
        const { status, body } = await post(token, request);
        assert.equal(status, 401);
        assert.equal(body.error_code, 'UNAUTHORIZED');
      }
      assert.equal(await eventRow('evt_401'), undefined);
    });

  for (const [what, request] of Object.entries({
    'no JSON': { raw: 'nonsense' },
    'half a JSON': { raw: '{"id":"evt_1"' },
    'no body': {},
    'a list': { body: [] },
    'no id': { body: { event: 'PAYMENT_CREATED' } },
    'no event': { body: { id: 'evt_2' } },
    'an id of a wrong type': { body: { id: 2, event: 'PAYMENT_CREATED' } },
    'a payment without an id': { body: { id: 'evt_3', event: 'PAYMENT_CREATED', payment: {} } },
    'a payment that is none': { body: { id: 'evt_4', event: 'PAYMENT_CREATED', payment: 'pay_1' } },
  }))
    it(`answers 400 to ${what}`, async () => {
      const { status, body } = await post(WEBHOOK_SECRET, request);
      assert.equal(status, 400);
      assert.ok(['INVALID_JSON', 'BAD_REQUEST'].includes(body.error_code), body.error_code);
    });

  it('answers 500 when it cannot be stored, so that the provider sends it again', async () => {
    const { subscription } = await withSubscription(billing);
    const event = paymentEvent('PAYMENT_CREATED', subscription, { at: billing.parts.clock.now() });
    await billing.parts.db.query('REVOKE INSERT ON billing.provider_events FROM posthorn_billing');
    const { status, body } = await billing.deliver(event);
    await billing.parts.db.query('GRANT INSERT ON billing.provider_events TO posthorn_billing');
    assert.equal(status, 500);
    assert.equal(body.error_code, 'INTERNAL');
    assert.ok(body.incident_id);
    assert.equal((await billing.deliver(event)).status, 200);
  });

  it('answers 500 and no other status while the database takes no writes', async () => {
    const { subscription } = await withSubscription(billing);
    const event = paymentEvent('PAYMENT_CREATED', subscription, { at: billing.parts.clock.now() });
    // 53100: the disk is full; 25006: a standby; 57P01: a shutdown.
    for (const code of ['53100', '25006', '57P01']) {
      await billing.parts.db.query(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'away' USING ERRCODE = '${code}'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON billing.provider_events EXECUTE FUNCTION refuse()`,
      );
      const { status, body } = await billing.deliver(event);
      await billing.parts.db.query('DROP TRIGGER refuse ON billing.provider_events; DROP FUNCTION refuse()');
      assert.deepEqual([status, body.error_code], [500, 'INTERNAL'], code);
    }
    assert.equal((await billing.deliver(event)).status, 200);
  });

  it('keeps nothing of the card in a payload', async () => {
    const { subscription } = await withSubscription(billing);
    const event = paymentEvent(
      'PAYMENT_CONFIRMED',
      { ...subscription, billing_type: 'credit_card' },
      { at: billing.parts.clock.now() },
    );
    assert.ok(JSON.stringify(event).includes('creditCardToken'));
    await billing.deliver(event);
    assert.ok(!JSON.stringify((await eventRow(event.id))!.payload).includes('creditCard'));
  });
});

describe('the processing of provider events', () => {
  it('ignores events that have no effect here, and payments of other businesses', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const at = billing.parts.clock.now();
    const updated = paymentEvent('PAYMENT_UPDATED', subscription, { at });
    const foreign = paymentEvent('PAYMENT_RECEIVED', subscription, { at });
    (foreign.payment as { subscription: string | null }).subscription = null;
    for (const event of [updated, foreign]) {
      await billing.deliver(event);
      await drainEvents(billing);
      assert.equal((await eventRow(event.id))!.status, 'ignored');
    }
    assert.equal(await stateOf(apiKey), 'trialing');
  });

  it('ignores what other businesses do with subscriptions of theirs', async () => {
    const at = billing.parts.clock.now();
    const theirs = { asaas_subscription_id: 'sub_theirs', billing_type: 'pix' };
    const paid = paymentEvent('PAYMENT_RECEIVED', theirs, { at });
    const ended = subscriptionEvent(theirs, { at });
    Object.assign(paid.payment as object, { externalReference: 'order 77' });
    Object.assign(ended.subscription as object, { externalReference: 'order 77' });
    for (const event of [paid, ended]) {
      await billing.deliver(event);
      await drainEvents(billing);
      assert.equal((await eventRow(event.id))!.status, 'ignored');
    }
  });

  it('tries again after 1, 5, 15, 60 and 360 minutes, then marks the event failed for good', async () => {
    const at = billing.parts.clock.now();
    const event = subscriptionEvent({ asaas_subscription_id: 'sub_nobody', billing_type: 'pix' }, { at });
    await billing.deliver(event);
    for (const minutes of [1, 5, 15, 60, 360]) {
      await drainEvents(billing);
      const row = (await eventRow(event.id))!;
      assert.equal(row.status, 'pending');
      assert.equal(row.last_error, 'the subscription is not known');
      const waitMs = row.next_attempt_at!.getTime() - billing.parts.clock.now().getTime();
      assert.equal(waitMs, minutes * 60_000);
      billing.parts.clock.advance(waitMs - 1);
      await drainEvents(billing);
      assert.equal((await eventRow(event.id))!.attempts, row.attempts);
      billing.parts.clock.advance(1);
    }
    await drainEvents(billing);
    const failed = (await eventRow(event.id))!;
    assert.equal(failed.status, 'failed');
    assert.equal(failed.attempts, 6);
    billing.parts.clock.advance(30 * 86_400_000);
    await drainEvents(billing);
    assert.equal((await eventRow(event.id))!.attempts, 6);
  });

  it('is applied when its subject arrives later', async () => {
    const { apiKey, companyId, subscription } = await withSubscription(billing);
    await billing.parts.db.query(
      `UPDATE billing.subscriptions SET asaas_subscription_id = 'elsewhere' WHERE company_id = $1`,
      [companyId],
    );
    const event = subscriptionEvent(subscription, { at: billing.parts.clock.now() });
    await billing.deliver(event);
    await drainEvents(billing);
    assert.equal((await eventRow(event.id))!.status, 'pending');
    await billing.parts.db.query(
      'UPDATE billing.subscriptions SET asaas_subscription_id = $2 WHERE company_id = $1',
      [companyId, subscription.asaas_subscription_id],
    );
    billing.parts.clock.advance(60_000);
    await drainEvents(billing);
    assert.equal((await eventRow(event.id))!.status, 'processed');
    assert.equal(await stateOf(apiKey), 'cancelled');
  });

  const OLD: [string, string, string][] = [
    ['PAYMENT_RECEIVED', 'PAYMENT_CREATED', 'received'],
    ['PAYMENT_RECEIVED', 'PAYMENT_CONFIRMED', 'received'],
    ['PAYMENT_RECEIVED', 'PAYMENT_OVERDUE', 'received'],
    ['PAYMENT_CONFIRMED', 'PAYMENT_OVERDUE', 'confirmed'],
    ['PAYMENT_CONFIRMED', 'PAYMENT_CREATED', 'confirmed'],
    ['PAYMENT_OVERDUE', 'PAYMENT_CREATED', 'overdue'],
    ['PAYMENT_REFUNDED', 'PAYMENT_RECEIVED', 'refunded'],
    ['PAYMENT_CHARGEBACK_REQUESTED', 'PAYMENT_RECEIVED', 'chargeback'],
    ['PAYMENT_DELETED', 'PAYMENT_OVERDUE', 'deleted'],
  ];
  for (const [newer, older, status] of OLD)
    it(`never lets an old ${older} undo a ${newer}`, async () => {
      const { apiKey, subscription } = await withSubscription(billing);
      const at = billing.parts.clock.now();
      const paymentId = `pay_${newer}_${older}`.toLowerCase();
      billing.parts.clock.advance(10_000);
      await billing.deliver(paymentEvent(newer, subscription, { at: billing.parts.clock.now(), paymentId }));
      await drainEvents(billing);
      const before = await stateOf(apiKey);
      await billing.deliver(paymentEvent(older, subscription, { at, paymentId }));
      await drainEvents(billing);
      const { data } = (await billing.call('GET', '/v1/billing/charges', { key: apiKey })).body;
      const charge = data.find((each: { asaas_payment_id: string }) => each.asaas_payment_id === paymentId);
      assert.equal(charge.status, status);
      // A late receipt about the past still counts: somebody has paid.
      if (newer !== 'PAYMENT_REFUNDED') assert.equal(await stateOf(apiKey), before);
      else assert.equal(await stateOf(apiKey), 'active');
    });

  it('is woken by the event itself (aim: effects show in well under a second)', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const stop = await billing.startWorker();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const since = performance.now();
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at: billing.parts.clock.now() }));
    await waitFor(async () => {
      const { rows } = await billing.parts.db.query<{ status: string }>(
        'SELECT status FROM billing.subscriptions WHERE id = $1',
        [subscription.id],
      );
      return rows[0]!.status === 'active';
    });
    const tookMs = performance.now() - since;
    await stop();
    tellFigure('effects of an event show', tookMs, { atMost: 900 });
    assert.ok(apiKey);
  });
});
