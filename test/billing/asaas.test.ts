import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createAsaasProvider } from '@posthorn/core/billing/provider/asaas.ts';
import {
  ASAAS_PRODUCTION_URL,
  ASAAS_SANDBOX_URL,
  asaasBaseUrl,
} from '@posthorn/core/billing/provider/asaas-http.ts';
import { type PaymentProvider, ProviderError } from '@posthorn/core/billing/provider/port.ts';
import { freePort } from '../support/process.ts';
import { API_KEY, asaasProviderOf } from './asaas-provider.ts';
import { type AsaasFault, type AsaasServer, startAsaasServer } from './asaas-server.ts';
import { CARD_CVV, CARD_NUMBER } from './billing-harness.ts';

/** The timeout of calls that the provider keeps waiting. */
const TIMEOUT_MS = 1_500;

let asaas: AsaasServer;
let provider: PaymentProvider;
before(async () => {
  asaas = await startAsaasServer();
  provider = asaasProviderOf(asaas, TIMEOUT_MS);
});
after(() => asaas.close());
beforeEach(() => {
  asaas.clearFaults();
  asaas.requests.length = 0;
});

const CUSTOMER = {
  documentNumber: '52998224725',
  legalName: 'Maria da Silva',
  tradeName: 'Silva Doces',
  email: 'maria@example.test',
  phone: '+5511999990000',
  address: {
    zip: '01310-100',
    street: 'Avenida Paulista',
    number: '1000',
    complement: null,
    district: 'Bela Vista',
    city: 'São Paulo',
    state: 'SP',
    country: 'BR',
  },
};
const order = (customerId: string, reference: string = crypto.randomUUID()) => ({
  reference,
  customerId,
  billingType: 'boleto' as const,
  cardToken: null,
  valueCents: 14_990,
  cycle: 'monthly' as const,
  firstDueDate: '2026-12-24',
  description: 'Pro',
  remoteIp: '203.0.113.7',
});

describe('the Asaas adapter', () => {
  it('goes to production with a production key, and to the sandbox with any other', () => {
    assert.equal(asaasBaseUrl('$aact_prod_000'), ASAAS_PRODUCTION_URL);
    assert.equal(asaasBaseUrl('$aact_hmlg_000'), ASAAS_SANDBOX_URL);
    assert.equal(ASAAS_PRODUCTION_URL, 'https://api.asaas.com/v3');
    assert.equal(ASAAS_SANDBOX_URL, 'https://api-sandbox.asaas.com/v3');
  });

  it('makes, changes, finds and removes customers', async () => {
    const { id } = await provider.createCustomer({ ...CUSTOMER, reference: 'ref-1' });
    const [request] = asaas.requests;
    assert.deepEqual([request!.method, request!.path], ['POST', '/customers']);
    assert.equal(request!.headers.access_token, API_KEY);
    assert.deepEqual(request!.body, {
      name: 'Maria da Silva',
      cpfCnpj: '52998224725',
      company: 'Silva Doces',
      email: 'maria@example.test',
      mobilePhone: '+5511999990000',
      postalCode: '01310-100',
      address: 'Avenida Paulista',
      addressNumber: '1000',
      complement: null,
      province: 'Bela Vista',
      externalReference: 'ref-1',
    });
    await provider.updateCustomer(id, { ...CUSTOMER, email: 'new@example.test' });
    assert.equal(asaas.customers.get(id)!.email, 'new@example.test');
    assert.deepEqual(await provider.findCustomers('ref-1'), [{ id }]);
    await provider.deleteCustomer(id);
    await provider.deleteCustomer(id);
    assert.deepEqual(await provider.findCustomers('ref-1'), []);
  });

  it('tokenizes a card', async () => {
    const { id } = await provider.createCustomer({ ...CUSTOMER, reference: 'ref-2' });
    const card = {
      customerId: id,
      number: CARD_NUMBER,
      cvv: CARD_CVV,
      holderName: 'MARIA D SILVA',
      expMonth: 7,
      expYear: 2034,
      holder: CUSTOMER,
      remoteIp: '203.0.113.7',
    };
    const made = await provider.tokenizeCard(card);
    assert.equal(made.brand, 'mastercard');
    assert.equal(made.last4, '8829');
    assert.match(made.token, /^[0-9a-f-]{36}$/);
    assert.deepEqual(asaas.requests.at(-1)!.body.creditCard, {
      holderName: 'MARIA D SILVA',
      number: CARD_NUMBER,
      expiryMonth: '07',
      expiryYear: '2034',
      ccv: CARD_CVV,
    });
    const refused = await faultOf(provider.tokenizeCard({ ...card, number: '5184019740373151' }));
    assert.deepEqual([refused.fault, refused.code], ['refused', 'invalid_creditCard']);
    // The provider's message quoted the card; the error has none of it.
    const told = `${refused.message} ${refused.stack} ${JSON.stringify(refused)} ${String(refused.cause)}`;
    assert.ok(!told.includes('5184019740373151') && !told.includes(`CCV ${CARD_CVV}`));
  });

  it('makes, changes and ends subscriptions, with their pending charges', async () => {
    const { id: customerId } = await provider.createCustomer({ ...CUSTOMER, reference: 'ref-3' });
    const { id } = await provider.createSubscription(order(customerId, 'ref-sub'));
    assert.deepEqual(asaas.requests.at(-1)!.body, {
      customer: customerId,
      billingType: 'BOLETO',
      value: 149.9,
      nextDueDate: '2026-12-24',
      cycle: 'MONTHLY',
      description: 'Pro',
      externalReference: 'ref-sub',
    });
    const [payment] = await provider.listPayments(id);
    assert.deepEqual(payment, {
      id: payment!.id,
      billingType: 'boleto',
      valueCents: 14_990,
      netValueCents: 14_791,
      dueDate: '2026-12-24',
      invoiceUrl: `https://sandbox.asaas.com/i/${payment!.id}`,
      bankSlipUrl: `https://sandbox.asaas.com/b/pdf/${payment!.id}`,
      isPending: true,
    });
    const change = { valueCents: 49_990, cycle: 'yearly', description: 'Business' } as const;
    await provider.updateSubscription(id, { ...change, nextDueDate: '2027-12-24' });
    assert.equal(asaas.subscriptions.get(id)!.nextDueDate, '2027-12-24');
    await provider.updateSubscription(id, { ...change, nextDueDate: null });
    assert.equal(asaas.subscriptions.get(id)!.nextDueDate, '2027-12-24');
    assert.equal((await provider.listPayments(id))[0]!.valueCents, 49_990);
    assert.deepEqual(await provider.findSubscriptions('ref-sub'), [{ id }]);
    assert.deepEqual(await provider.readSubscription(id), { cycle: 'yearly' });
    await provider.deleteSubscription(id);
    await provider.deleteSubscription(id);
    assert.equal(await provider.readSubscription(id), null);
    assert.deepEqual(await provider.findSubscriptions('ref-sub'), []);
  });

  it('sends the card’s token and whose address asked with a card subscription', async () => {
    const { id: customerId } = await provider.createCustomer({ ...CUSTOMER, reference: 'ref-4' });
    await provider.createSubscription({
      ...order(customerId),
      billingType: 'credit_card',
      cardToken: 'the token',
    });
    const { creditCardToken, remoteIp, billingType } = asaas.requests.at(-1)!.body;
    assert.deepEqual([billingType, creditCardToken, remoteIp], ['CREDIT_CARD', 'the token', '203.0.113.7']);
  });

  it('reads the PIX code of a payment', async () => {
    const { id: customerId } = await provider.createCustomer({ ...CUSTOMER, reference: 'ref-5' });
    const { id } = await provider.createSubscription({ ...order(customerId), billingType: 'pix' });
    const [payment] = await provider.listPayments(id);
    assert.deepEqual(await provider.readPix(payment!.id), {
      copyPaste: `00020126-${payment!.id}`,
      qrCode: 'aVZCT1J3MEtHZ28=',
    });
  });

  it('reads every page of a long list', async () => {
    for (let i = 0; i < 230; i += 1)
      asaas.payments.set(`pay_long_${i}`, {
        id: `pay_long_${i}`,
        subscription: 'sub_long',
        value: 10,
        billingType: 'PIX',
        dueDate: '2026-01-01',
      });
    assert.equal((await provider.listPayments('sub_long')).length, 230);
  });

  it('removes only subscriptions with the exact reference, whatever a search returns', async () => {
    const { id } = await provider.createCustomer({ ...CUSTOMER, reference: 'somebody else' });
    asaas.fault('GET /customers', {
      kind: 'status',
      status: 200,
      body: { object: 'list', hasMore: false, data: [{ id, externalReference: 'somebody else' }] },
    });
    assert.deepEqual(await provider.findCustomers('ours'), []);
  });

  const FAULTS: [string, AsaasFault, ProviderError['fault']][] = [
    ['a connection cut in the middle', { kind: 'reset-before' }, 'unknown'],
    ['500 before it did anything', { kind: '500-before' }, 'unknown'],
    ['500 after it did', { kind: '500-after' }, 'unknown'],
    ['half an answer', { kind: 'half' }, 'unknown'],
    ['no answer in time', { kind: 'silent' }, 'unknown'],
    ['an answer that is too late', { kind: 'slow', delayMs: 1.5 * TIMEOUT_MS }, 'unknown'],
    ['an answer without an id', { kind: 'status', status: 200, body: { object: 'customer' } }, 'unknown'],
    [
      'a refusal',
      {
        kind: 'status',
        status: 400,
        body: { errors: [{ code: 'invalid_cpfCnpj', description: 'CPF inválido' }] },
      },
      'refused',
    ],
    ['a key that is not valid', { kind: 'status', status: 401, body: {} }, 'unavailable'],
    ['a key without rights', { kind: 'status', status: 403, body: {} }, 'unavailable'],
    ['too many requests', { kind: 'status', status: 429, body: {} }, 'unavailable'],
    ['a page of a proxy', { kind: 'status', status: 502, body: {} }, 'unknown'],
  ];
  for (const [what, fault, expected] of FAULTS)
    it(`calls ${what} "${expected}"`, async () => {
      asaas.fault('POST /customers', fault);
      const error = await faultOf(provider.createCustomer({ ...CUSTOMER, reference: 'ref-f' }));
      assert.equal(error.fault, expected);
    });

  it('calls a server that is not there "unavailable"', async () => {
    const nobody = createAsaasProvider({
      apiKey: 'k',
      baseUrl: `http://127.0.0.1:${await freePort()}/v3`,
    });
    assert.equal(
      (await faultOf(nobody.createCustomer({ ...CUSTOMER, reference: 'x' }))).fault,
      'unavailable',
    );
  });

  it('follows no redirect: the key goes to the provider alone', async () => {
    const elsewhere = await startAsaasServer();
    asaas.fault('POST /customers', { kind: 'redirect', to: `${elsewhere.url}/customers` });
    await faultOf(provider.createCustomer({ ...CUSTOMER, reference: 'x' }));
    assert.equal(elsewhere.requests.length, 0);
    await elsewhere.close();
  });
});

async function faultOf(call: Promise<unknown>): Promise<ProviderError> {
  try {
    await call;
  } catch (err) {
    assert.ok(err instanceof ProviderError, String(err));
    return err;
  }
  throw new Error('the call did not fail');
}
