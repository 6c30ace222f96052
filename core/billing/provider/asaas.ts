import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import type { BillingType } from '@posthorn/contract/billing/subscriptions.ts';
import { centsOf } from '../provider-events/provider-event.ts';
import { type AsaasHttp, type AsaasObject, type AsaasOptions, createAsaasHttp } from './asaas-http.ts';
import {
  type CardToTokenize,
  type CustomerFields,
  type ListedPayment,
  type PaymentProvider,
  ProviderError,
} from './port.ts';

const BILLING_TYPES: Record<BillingType, string> = {
  pix: 'PIX',
  boleto: 'BOLETO',
  credit_card: 'CREDIT_CARD',
};
const CYCLES: Record<BillingCycle, string> = { monthly: 'MONTHLY', yearly: 'YEARLY' };

/** Payments of one subscription come 100 a page; ten years of monthly ones are two. */
const PAGE_SIZE = 100;
const PAGES_MAX = 20;

/** The payment provider Asaas over its public HTTP API, version 3. */
export function createAsaasProvider(
  options: Omit<AsaasOptions, 'timeoutMs'> & { timeoutMs?: number },
): PaymentProvider {
  const http = createAsaasHttp({ timeoutMs: 15_000, ...options });
  return {
    name: 'asaas',
    async createCustomer({ reference, ...customer }) {
      return withId(
        await http.call('POST', '/customers', { ...customerBody(customer), externalReference: reference }),
      );
    },
    async updateCustomer(id, customer) {
      await http.call('PUT', `/customers/${encodeURIComponent(id)}`, customerBody(customer));
    },
    deleteCustomer: (id) => remove(http, `/customers/${encodeURIComponent(id)}`),
    findCustomers: (reference) => findByReference(http, '/customers', reference),
    async tokenizeCard(card) {
      const answer = await http.call('POST', '/creditCard/tokenizeCreditCard', cardBody(card));
      const { creditCardToken, creditCardBrand, creditCardNumber } = answer;
      if (typeof creditCardToken !== 'string')
        throw new ProviderError('unknown', 'asaas answered without a card token');
      return {
        token: creditCardToken,
        brand: typeof creditCardBrand === 'string' ? creditCardBrand.toLowerCase() : 'unknown',
        // Asaas shows the last four digits; should it ever show more, only four are kept.
        last4: (typeof creditCardNumber === 'string' ? creditCardNumber : card.number).slice(-4),
      };
    },
    async createSubscription(subscription) {
      return withId(
        await http.call('POST', '/subscriptions', {
          customer: subscription.customerId,
          billingType: BILLING_TYPES[subscription.billingType],
          value: subscription.valueCents / 100,
          nextDueDate: subscription.firstDueDate,
          cycle: CYCLES[subscription.cycle],
          description: subscription.description,
          externalReference: subscription.reference,
          ...(subscription.cardToken === null
            ? {}
            : { creditCardToken: subscription.cardToken, remoteIp: subscription.remoteIp }),
        }),
      );
    },
    async updateSubscription(id, change) {
      await http.call('PUT', `/subscriptions/${encodeURIComponent(id)}`, {
        value: change.valueCents / 100,
        cycle: CYCLES[change.cycle],
        description: change.description,
        updatePendingPayments: true,
        ...(change.nextDueDate !== null && { nextDueDate: change.nextDueDate }),
      });
    },
    deleteSubscription: (id) => remove(http, `/subscriptions/${encodeURIComponent(id)}`),
    findSubscriptions: (reference) => findByReference(http, '/subscriptions', reference),
    async readSubscription(id) {
      try {
        const found = await http.call('GET', `/subscriptions/${encodeURIComponent(id)}`);
        return found.deleted === true ? null : { cycle: keyOf(CYCLES, found.cycle) };
      } catch (err) {
        if (err instanceof ProviderError && err.code === 'not_found') return null;
        throw err;
      }
    },
    async listPayments(subscriptionId) {
      const path = `/subscriptions/${encodeURIComponent(subscriptionId)}/payments`;
      return (await listAll(http, path)).filter((payment) => payment.deleted !== true).map(paymentOf);
    },
    deletePayment: (paymentId) => remove(http, `/payments/${encodeURIComponent(paymentId)}`),
    async readPix(paymentId) {
      const { payload, encodedImage } = await http.call(
        'GET',
        `/payments/${encodeURIComponent(paymentId)}/pixQrCode`,
      );
      if (typeof payload !== 'string' || typeof encodedImage !== 'string')
        throw new ProviderError('unknown', 'asaas answered without a PIX code');
      return { copyPaste: payload, qrCode: encodedImage };
    },
  };
}

function customerBody(customer: CustomerFields): AsaasObject {
  const { address } = customer;
  return {
    name: customer.legalName,
    cpfCnpj: customer.documentNumber,
    company: customer.tradeName,
    email: customer.email,
    mobilePhone: customer.phone,
    postalCode: address?.zip ?? null,
    address: address?.street ?? null,
    addressNumber: address?.number ?? null,
    complement: address?.complement ?? null,
    province: address?.district ?? null,
  };
}

function cardBody(card: CardToTokenize): AsaasObject {
  const { holder } = card;
  return {
    customer: card.customerId,
    creditCard: {
      holderName: card.holderName,
      number: card.number,
      expiryMonth: String(card.expMonth).padStart(2, '0'),
      expiryYear: String(card.expYear),
      ccv: card.cvv,
    },
    creditCardHolderInfo: {
      name: holder.legalName,
      email: holder.email,
      cpfCnpj: holder.documentNumber,
      postalCode: holder.address?.zip ?? null,
      addressNumber: holder.address?.number ?? null,
      addressComplement: holder.address?.complement ?? null,
      phone: holder.phone,
    },
    remoteIp: card.remoteIp,
  };
}

async function remove(http: AsaasHttp, path: string): Promise<void> {
  try {
    await http.call('DELETE', path);
  } catch (err) {
    if (!(err instanceof ProviderError && err.code === 'not_found')) throw err;
  }
}

/**
 * Only what carries the very reference and is not deleted: what is found here may be removed, and a filter
 * that the provider did not apply must not cost anybody a subscription.
 */
async function findByReference(http: AsaasHttp, path: string, reference: string): Promise<{ id: string }[]> {
  const found = await listAll(http, `${path}?externalReference=${encodeURIComponent(reference)}`);
  return found
    .filter((item) => item.externalReference === reference && item.deleted !== true)
    .map((item) => withId(item));
}

async function listAll(http: AsaasHttp, path: string): Promise<AsaasObject[]> {
  const all: AsaasObject[] = [];
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = `${path.includes('?') ? '&' : '?'}limit=${PAGE_SIZE}&offset=${page * PAGE_SIZE}`;
    const answer = await http.call('GET', path + query);
    if (!Array.isArray(answer.data)) throw new ProviderError('unknown', 'asaas answered without a list');
    all.push(...(answer.data as AsaasObject[]));
    if (answer.hasMore !== true) break;
  }
  return all;
}

function paymentOf(payment: AsaasObject): ListedPayment {
  // UNDEFINED (the payer chooses) and the rare others have a slip like a boleto.
  const billingType = keyOf(BILLING_TYPES, payment.billingType) ?? 'boleto';
  const valueCents = centsOf(payment.value);
  if (valueCents === null || typeof payment.dueDate !== 'string')
    throw new ProviderError('unknown', 'asaas answered with half a payment');
  return {
    id: withId(payment).id,
    billingType,
    valueCents,
    netValueCents: centsOf(payment.netValue),
    dueDate: payment.dueDate,
    invoiceUrl: typeof payment.invoiceUrl === 'string' ? payment.invoiceUrl : null,
    bankSlipUrl: typeof payment.bankSlipUrl === 'string' ? payment.bankSlipUrl : null,
    isPending: payment.status === 'PENDING',
  };
}

function keyOf<Key extends string>(names: Record<Key, string>, name: unknown): Key | null {
  return (Object.keys(names) as Key[]).find((key) => names[key] === name) ?? null;
}

function withId(object: AsaasObject): { id: string } {
  if (typeof object.id !== 'string' || object.id === '')
    throw new ProviderError('unknown', 'asaas answered without an id');
  return { id: object.id };
}
