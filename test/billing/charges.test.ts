import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { crc16 } from '@posthorn/core/billing/provider/simulated/br-code.ts';
import { runDueTask } from '@posthorn/core/billing/run-provider-tasks.ts';
import { readQrPicture } from '../support/read-qr.ts';
import { drainEvents, startTestBilling, type TestBilling, withSubscription } from './billing-harness.ts';
import { paymentEvent } from './provider-payloads.ts';

const PATH = '/v1/billing/charges';
let billing: TestBilling;
before(async () => {
  billing = await startTestBilling();
});
after(() => billing.close());

const list = async (key: string, query = '') => {
  const { status, body } = await billing.call('GET', `${PATH}${query}`, { key });
  assert.equal(status, 200);
  return body.data;
};

describe('GET /v1/billing/charges', () => {
  it('lists by due date, newest first, and filters by status', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const at = billing.parts.clock.now();
    const dues = ['2026-03-05', '2026-01-05', '2026-02-05'];
    for (const dueDate of dues)
      await billing.deliver(paymentEvent('PAYMENT_CREATED', subscription, { at, dueDate }));
    await billing.deliver(paymentEvent('PAYMENT_RECEIVED', subscription, { at, dueDate: '2026-04-05' }));
    await drainEvents(billing);
    const all = await list(apiKey);
    const order = all.map((charge: { due_date: string }) => charge.due_date);
    assert.equal(order.length, 5);
    assert.deepEqual(order, [...order].sort().reverse());
    const received = await list(apiKey, '?status=received');
    assert.deepEqual(
      received.map((charge: { due_date: string }) => charge.due_date),
      ['2026-04-05'],
    );
    assert.equal((await list(apiKey, '?status=pending')).length, 4);
    assert.deepEqual(await list(apiKey, '?status=refunded'), []);
    assert.deepEqual(await list(apiKey, '?status=nonsense'), []);
    assert.equal((await list(apiKey, '?limit=2')).length, 2);
  });

  it('takes a limit of 1 to 200, and 50 for anything else', async () => {
    const { apiKey, subscription, companyId } = await withSubscription(billing);
    await billing.parts.db.query(
      `INSERT INTO billing.charges (company_id, subscription_id, asaas_payment_id, billing_type, status, status_at,
         amount_cents, due_date, details_at, created_at, updated_at)
       SELECT $1, $2, 'pay_many_' || i, 'pix', 'received', now(), 100, '2025-01-01'::date + i, now(), now(), now()
       FROM generate_series(1, 220) i`,
      [companyId, subscription.id],
    );
    for (const [query, count] of Object.entries({
      '': 50,
      '?limit=1': 1,
      '?limit=200': 200,
      '?limit=201': 50,
      '?limit=0': 50,
      '?limit=-5': 50,
      '?limit=many': 50,
      '?limit=': 50,
    }))
      assert.equal((await list(apiKey, query)).length, count, query);
  });

  it('shows nobody else’s', async () => {
    const mine = await billing.company();
    await withSubscription(billing);
    assert.deepEqual(await list(mine.apiKey), []);
  });
});

describe('a charge', () => {
  it('has a PIX code and its QR image while a PIX charge is pending, and not after', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    const [pending] = await list(apiKey);
    const code: string = pending.pix_copy_paste;
    assert.equal(crc16(code.slice(0, -4)), code.slice(-4));
    assert.equal(readBrCode(code).get('54'), '49.90');
    assert.equal(readBrCode(code).get('58'), 'BR');
    assert.match(readBrCode(code).get('26')!, /^0014br\.gov\.bcb\.pix01/);
    const png = Buffer.from(pending.pix_qr_code, 'base64');
    assert.deepEqual([...png.subarray(1, 4)], [...Buffer.from('PNG')]);
    assert.equal(await readQrPicture(png), code);
    assert.equal(pending.bank_slip_url, null);
    assert.equal(pending.paid_at, null);
    assert.equal(pending.fee_cents, pending.amount_cents - pending.net_value_cents);
    const paidAt = billing.parts.clock.now();
    await billing.deliver(
      paymentEvent('PAYMENT_RECEIVED', subscription, { at: paidAt, paymentId: pending.asaas_payment_id }),
    );
    await drainEvents(billing);
    const [received] = await list(apiKey);
    assert.equal(received.id, pending.id);
    assert.equal(received.status, 'received');
    assert.equal(received.pix_copy_paste, null);
    assert.equal(received.pix_qr_code, null);
    assert.ok(Math.abs(Date.parse(received.paid_at) - paidAt.getTime()) < 1000);
  });

  it('has the PIX code of its amount after a change of the plan', async () => {
    const { apiKey, subscription } = await withSubscription(billing);
    await billing.call('POST', `/v1/billing/subscriptions/${subscription.id}/change-plan`, {
      key: apiKey,
      body: { new_plan_code: 'pro_monthly' },
    });
    while (await runDueTask(billing.billing));
    const [charge] = await list(apiKey);
    assert.equal(charge.amount_cents, 14_990);
    assert.equal(readBrCode(charge.pix_copy_paste).get('54'), '149.90');
  });

  it('has a slip and no PIX code when it is a boleto', async () => {
    const { apiKey } = await withSubscription(billing, { billing_type: 'boleto' });
    const [charge] = await list(apiKey);
    assert.match(charge.bank_slip_url, /^https:\/\//);
    assert.equal(charge.pix_copy_paste, null);
    assert.equal(charge.pix_qr_code, null);
  });

  const STATUSES: [string, string][] = [
    ['PAYMENT_CREATED', 'pending'],
    ['PAYMENT_CONFIRMED', 'confirmed'],
    ['PAYMENT_RECEIVED', 'received'],
    ['PAYMENT_OVERDUE', 'overdue'],
    ['PAYMENT_REPROVED_BY_RISK_ANALYSIS', 'failed'],
    ['PAYMENT_REFUNDED', 'refunded'],
    ['PAYMENT_CHARGEBACK_REQUESTED', 'chargeback'],
    ['PAYMENT_DELETED', 'deleted'],
  ];
  for (const [event, status] of STATUSES)
    it(`is ${status} after ${event}`, async () => {
      const { apiKey, subscription } = await withSubscription(billing);
      const [first] = await list(apiKey);
      await billing.deliver(
        paymentEvent(event, subscription, {
          at: billing.parts.clock.now(),
          paymentId: first.asaas_payment_id,
        }),
      );
      await drainEvents(billing);
      const [charge] = await list(apiKey, `?status=${status}`);
      assert.equal(charge.id, first.id);
      assert.equal(charge.paid_at !== null, status === 'received');
    });
});

/** The fields of the outer level, by their ids. */
function readBrCode(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    const length = Number(text.slice(at + 2, at + 4));
    fields.set(text.slice(at, at + 2), text.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return fields;
}
