import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { AddressDto } from '@posthorn/contract/billing/profile.ts';
import type { BillingType } from '@posthorn/contract/billing/subscriptions.ts';

/**
 * The outcome of a failed call. `refused`: the provider said no and did nothing. `unavailable`: the
 * call did not reach it. `unknown`: it may have been done (timeout, 5xx, half an answer).
 */
export type ProviderFault = 'refused' | 'unavailable' | 'unknown';

export class ProviderError extends Error {
  override name = 'ProviderError';
  readonly fault: ProviderFault;
  /** The provider's own code, e.g. `invalid_creditCard`; for logs. */
  readonly code: string | undefined;

  constructor(fault: ProviderFault, message: string, options: { code?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.fault = fault;
    this.code = options.code;
  }
}

export interface CustomerFields {
  documentNumber: string;
  legalName: string;
  tradeName: string | null;
  email: string | null;
  phone: string | null;
  address: AddressDto | null;
}

export interface CardToTokenize {
  customerId: string;
  number: string;
  cvv: string;
  holderName: string;
  expMonth: number;
  expYear: number;
  /** The card holder's data, in the form that the provider requires. */
  holder: CustomerFields;
  remoteIp: string;
}

export interface SubscriptionToCreate {
  /** Ours: what it can be found by when the answer is lost. */
  reference: string;
  customerId: string;
  billingType: BillingType;
  cardToken: string | null;
  valueCents: number;
  cycle: BillingCycle;
  /** Local day of the first charge. */
  firstDueDate: string;
  description: string;
  remoteIp: string;
}

export interface ProviderPayment {
  id: string;
  billingType: BillingType;
  valueCents: number;
  netValueCents: number | null;
  dueDate: string;
  invoiceUrl: string | null;
  bankSlipUrl: string | null;
}

/** A payment as the provider lists it. */
export interface ListedPayment extends ProviderPayment {
  /** Neither paid nor overdue: it follows a change of the subscription. */
  isPending: boolean;
}

export interface PixCode {
  copyPaste: string;
  /** PNG in base64. */
  qrCode: string;
}

/**
 * The payment provider. Every call has its own time limit and throws {@link ProviderError}; deleting what is
 * gone already succeeds.
 */
export interface PaymentProvider {
  readonly name: 'asaas' | 'simulated';
  createCustomer(customer: CustomerFields & { reference: string }): Promise<{ id: string }>;
  updateCustomer(id: string, customer: CustomerFields): Promise<void>;
  deleteCustomer(id: string): Promise<void>;
  findCustomers(reference: string): Promise<{ id: string }[]>;
  tokenizeCard(card: CardToTokenize): Promise<{ token: string; brand: string; last4: string }>;
  createSubscription(subscription: SubscriptionToCreate): Promise<{ id: string }>;
  /** Also changes the charges that are pending. `refused` when the subscription is gone. */
  updateSubscription(
    id: string,
    change: {
      valueCents: number;
      cycle: BillingCycle;
      description: string;
      /** The local day of the next charge that is yet to be made; null: as it is. */
      nextDueDate: string | null;
    },
  ): Promise<void>;
  deleteSubscription(id: string): Promise<void>;
  /** Those that are not deleted. */
  findSubscriptions(reference: string): Promise<{ id: string }[]>;
  /** Null when it is gone; a cycle of null is none of ours. */
  readSubscription(id: string): Promise<{ cycle: BillingCycle | null } | null>;
  listPayments(subscriptionId: string): Promise<ListedPayment[]>;
  /** For one that is pending. */
  deletePayment(paymentId: string): Promise<void>;
  readPix(paymentId: string): Promise<PixCode>;
}
