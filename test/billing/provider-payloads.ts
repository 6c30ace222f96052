import { randomUUID } from 'node:crypto';
import { formatProviderTime, localDate } from '@posthorn/core/billing/dates.ts';

/** The provider's payloads, in the shape of its documentation. */

interface Named {
  asaas_subscription_id: string;
  billing_type: string;
}

export interface PaymentOptions {
  at: Date;
  /** The id of the event; a new one by default. */
  eventId?: string;
  paymentId?: string;
  dueDate?: string;
  valueCents?: number;
}

const TYPES: Record<string, string> = { pix: 'PIX', boleto: 'BOLETO', credit_card: 'CREDIT_CARD' };

export function paymentEvent(
  event: string,
  subscription: Named,
  options: PaymentOptions,
): Record<string, unknown> & { id: string } {
  const paymentId = options.paymentId ?? `pay_${randomUUID().slice(0, 12)}`;
  const valueCents = options.valueCents ?? 4990;
  const isCard = subscription.billing_type === 'credit_card';
  return {
    id: options.eventId ?? `evt_${randomUUID()}`,
    event,
    dateCreated: formatProviderTime(options.at),
    payment: {
      object: 'payment',
      id: paymentId,
      dateCreated: localDate(options.at),
      customer: 'cus_000000000001',
      subscription: subscription.asaas_subscription_id,
      value: valueCents / 100,
      netValue: (valueCents - 199) / 100,
      billingType: TYPES[subscription.billing_type],
      status: event.replace('PAYMENT_', ''),
      dueDate: options.dueDate ?? localDate(options.at),
      originalDueDate: options.dueDate ?? localDate(options.at),
      invoiceUrl: `https://sandbox.asaas.com/i/${paymentId}`,
      bankSlipUrl:
        subscription.billing_type === 'boleto' ? `https://sandbox.asaas.com/b/pdf/${paymentId}` : null,
      externalReference: null,
      deleted: event === 'PAYMENT_DELETED',
      ...(isCard
        ? {
            creditCard: {
              creditCardNumber: '8829',
              creditCardBrand: 'MASTERCARD',
              creditCardToken: 'a75a1d98-c52d-4a6b-a413-71e00b193c99',
            },
          }
        : {}),
    },
  };
}

export function subscriptionEvent(
  subscription: Named,
  options: { at: Date; eventId?: string },
): Record<string, unknown> & { id: string } {
  return {
    id: options.eventId ?? `evt_${randomUUID()}`,
    event: 'SUBSCRIPTION_DELETED',
    dateCreated: formatProviderTime(options.at),
    subscription: {
      object: 'subscription',
      id: subscription.asaas_subscription_id,
      dateCreated: localDate(options.at),
      customer: 'cus_000000000001',
      billingType: TYPES[subscription.billing_type],
      deleted: true,
      status: 'INACTIVE',
      externalReference: null,
    },
  };
}
