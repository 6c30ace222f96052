import { randomUUID } from 'node:crypto';
import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { Db, Sql } from '../../../platform/database/db.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { type CardToTokenize, type PaymentProvider, ProviderError } from '../port.ts';
import { brCode, drawQrCode } from './br-code.ts';
import { deletePending, endSubscription } from './end-subscription.ts';
import {
  bankSlipUrl,
  customerNow,
  invoiceUrl,
  loadPayments,
  loadSimulatedSubscription,
  makePayment,
  netCents,
  newProviderId,
  queuePaymentEvent,
  queueSubscriptionEvent,
} from './simulated-records.ts';

/** Refused though its digits are right, as test cards of real providers are. */
const REFUSED_CARD = '4000000000000002';

/**
 * A payment provider that is built in: it makes charges, PIX codes and boleto links, charges cards on their
 * due dates and sends the provider's webhooks over HTTP (send-webhooks.ts). Its memory is in the database,
 * so that every process of an installation sees the same provider. No money moves.
 */
// long: one method for each call of the port, a statement or two in each
export function createSimulatedProvider(deps: { db: Db; clock: Clock }): PaymentProvider {
  const { db, clock } = deps;
  return {
    name: 'simulated',
    async createCustomer({ reference, ...fields }) {
      const id = newProviderId('cus');
      await db.query(
        `INSERT INTO billing.simulated_customers (id, external_reference, fields, created_at) VALUES ($1, $2, $3, $4)`,
        [id, reference, JSON.stringify(fields), clock.now()],
      );
      return { id };
    },
    async updateCustomer(id, fields) {
      const { rowCount } = await db.query(
        'UPDATE billing.simulated_customers SET fields = $2 WHERE id = $1 AND NOT deleted',
        [id, JSON.stringify(fields)],
      );
      if (rowCount === 0) throw new ProviderError('refused', 'no such customer', { code: 'not_found' });
    },
    async deleteCustomer(id) {
      await db.query('UPDATE billing.simulated_customers SET deleted = true WHERE id = $1', [id]);
    },
    async findCustomers(reference) {
      const { rows } = await db.query<{ id: string }>(
        'SELECT id FROM billing.simulated_customers WHERE external_reference = $1 AND NOT deleted',
        [reference],
      );
      return rows;
    },
    tokenizeCard: (card) => tokenize(db, card),
    async createSubscription(order) {
      if (order.billingType === 'credit_card') await checkCard(db, order.customerId, order.cardToken);
      const id = newProviderId('sub');
      await db.transaction(async (sql) => {
        const now = await customerNow(sql, clock, order.customerId);
        await sql.query(
          `INSERT INTO billing.simulated_subscriptions (id, external_reference, customer_id, billing_type, card_token,
             value_cents, cycle, next_due_date, description, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
          [
            id,
            order.reference,
            order.customerId,
            order.billingType,
            order.cardToken,
            order.valueCents,
            order.cycle,
            order.firstDueDate,
            order.description,
            now,
          ],
        );
        const subscription = (await loadSimulatedSubscription(sql, id))!;
        await queueSubscriptionEvent(sql, 'SUBSCRIPTION_CREATED', subscription, now);
        await makePayment(sql, subscription, now);
      });
      return { id };
    },
    async updateSubscription(id, change) {
      await db.transaction(async (sql) => {
        const subscription = await loadSimulatedSubscription(sql, id);
        if (!subscription || subscription.deleted)
          throw new ProviderError('refused', 'no such subscription', { code: 'not_found' });
        await sql.query(
          `UPDATE billing.simulated_subscriptions
           SET value_cents = $2, cycle = $3, description = $4, next_due_date = coalesce($5, next_due_date) WHERE id = $1`,
          [id, change.valueCents, change.cycle, change.description, change.nextDueDate],
        );
        await sql.query(
          `UPDATE billing.simulated_payments SET value_cents = $2 WHERE subscription_id = $1 AND status = 'PENDING'`,
          [id, change.valueCents],
        );
        const now = await customerNow(sql, clock, subscription.customer_id);
        for (const payment of await loadPayments(sql, { subscriptionId: id }))
          if (payment.status === 'PENDING') await queuePaymentEvent(sql, 'PAYMENT_UPDATED', payment, now);
      });
    },
    async deleteSubscription(id) {
      await db.transaction((sql) => endSubscription(sql, clock, id));
    },
    async findSubscriptions(reference) {
      const { rows } = await db.query<{ id: string }>(
        'SELECT id FROM billing.simulated_subscriptions WHERE external_reference = $1 AND NOT deleted',
        [reference],
      );
      return rows;
    },
    async readSubscription(id) {
      const { rows } = await db.query<{ cycle: BillingCycle }>(
        'SELECT cycle FROM billing.simulated_subscriptions WHERE id = $1 AND NOT deleted',
        [id],
      );
      return rows[0] ?? null;
    },
    async listPayments(subscriptionId) {
      const payments = await loadPayments(db, { subscriptionId });
      return payments
        .filter((payment) => payment.status !== 'DELETED')
        .map((payment) => ({
          id: payment.id,
          billingType: payment.billing_type,
          valueCents: payment.value_cents,
          netValueCents: netCents(payment),
          dueDate: payment.due_date,
          invoiceUrl: invoiceUrl(payment),
          bankSlipUrl: bankSlipUrl(payment),
          isPending: payment.status === 'PENDING',
        }));
    },
    async deletePayment(paymentId) {
      await db.transaction((sql) => deletePending(sql, clock, paymentId));
    },
    async readPix(paymentId) {
      const [payment] = await loadPayments(db, { paymentId });
      if (payment?.billing_type !== 'pix')
        throw new ProviderError('refused', 'no such PIX payment', { code: 'not_found' });
      const copyPaste = brCode({
        pixKey: 'pix@simulated-provider.invalid',
        merchantName: 'POSTHORN SIMULATED',
        merchantCity: 'SAO PAULO',
        amountCents: payment.value_cents,
        txid: payment.id,
      });
      return { copyPaste, qrCode: drawQrCode(copyPaste) };
    },
  };
}

/** The number is looked at here and goes nowhere: the record holds a random token, brand and last digits. */
async function tokenize(
  sql: Sql,
  card: CardToTokenize,
): Promise<{ token: string; brand: string; last4: string }> {
  if (!passesLuhn(card.number) || card.number === REFUSED_CARD)
    throw new ProviderError('refused', 'the card was refused', { code: 'invalid_creditCard' });
  const made = { token: randomUUID(), brand: brandOf(card.number), last4: card.number.slice(-4) };
  await sql.query(
    'INSERT INTO billing.simulated_cards (token, customer_id, brand, last4) VALUES ($1, $2, $3, $4)',
    [made.token, card.customerId, made.brand, made.last4],
  );
  return made;
}

async function checkCard(sql: Sql, customerId: string, token: string | null): Promise<void> {
  const { rowCount } = await sql.query(
    'SELECT FROM billing.simulated_cards WHERE token = $1 AND customer_id = $2',
    [token, customerId],
  );
  if (rowCount === 0) throw new ProviderError('refused', 'no such card', { code: 'invalid_creditCard' });
}

function passesLuhn(number: string): boolean {
  const sum = [...number].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function brandOf(number: string): string {
  if (number.startsWith('4')) return 'visa';
  if (/^(5[1-5]|2[2-7])/.test(number)) return 'mastercard';
  if (/^3[47]/.test(number)) return 'amex';
  if (/^(4011|4312|4389|5041|5066|5090|6277|6362|6363|650|651|655)/.test(number)) return 'elo';
  return 'unknown';
}
