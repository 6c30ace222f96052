import type { ProviderEventBody } from '@posthorn/contract/billing/provider-webhook.ts';
import type { BillingType } from '@posthorn/contract/billing/subscriptions.ts';
import { parseProviderDate } from '../dates.ts';

const BILLING_TYPES: Record<string, BillingType> = {
  PIX: 'pix',
  BOLETO: 'boleto',
  CREDIT_CARD: 'credit_card',
};

/** The payment of an event; a part is null when the payload lacks it. */
export interface EventPayment {
  id: string;
  subscriptionId: string | null;
  billingType: BillingType | null;
  valueCents: number | null;
  netValueCents: number | null;
  dueDate: string | null;
  /** The day on which the customer paid. */
  paidOn: string | null;
  invoiceUrl: string | null;
  bankSlipUrl: string | null;
}

/** Reads leniently: payloads vary by event (BIL-15), and what is missing is known from elsewhere. */
export function readEventPayment(payment: NonNullable<ProviderEventBody['payment']>): EventPayment {
  return {
    id: payment.id,
    subscriptionId: textOf(payment.subscription),
    billingType: BILLING_TYPES[String(payment.billingType)] ?? null,
    valueCents: centsOf(payment.value),
    netValueCents: centsOf(payment.netValue),
    dueDate: parseProviderDate(payment.dueDate),
    paidOn: parseProviderDate(payment.clientPaymentDate),
    invoiceUrl: textOf(payment.invoiceUrl),
    bankSlipUrl: textOf(payment.bankSlipUrl),
  };
}

/** The provider writes amounts in reais, `49.9`. */
export function centsOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > 20_000_000) return null;
  return Math.round(value * 100);
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/**
 * The payload as it may be stored: without what the provider tells of the card, its token above all (BIL-4, BIL-15:
 * never exposed; a table of events is no place for it).
 */
export function withoutCard(event: ProviderEventBody): ProviderEventBody {
  return JSON.parse(
    JSON.stringify(event, (key, value: unknown) =>
      /^(creditCard|card|ccv|cvv)/i.test(key) ? undefined : value,
    ),
  );
}
