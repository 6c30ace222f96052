/** One body that passes, for each route of the billing service that takes one, by the name of the route. */
export const billingBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'profile.create': {
    document_type: 'cnpj',
    document_number: '11.222.333/0001-81',
    legal_name: 'Acme Ltda',
    email: 'billing@acme.test',
    address: {
      zip: '01310100',
      street: 'Avenida Paulista',
      number: '1000',
      city: 'São Paulo',
      country: 'BR',
    },
  },
  'profile.update': { trade_name: 'Acme' },
  'subscriptions.create': {
    plan_code: 'pro_monthly',
    billing_type: 'credit_card',
    card_id: 5,
    addons: [{ code: 'extra_instance', quantity: 2 }],
  },
  'subscriptions.changePlan': { new_plan_code: 'business_monthly' },
  'subscriptions.cancel': { immediate: false, reason: 'user_request' },
  'subscriptions.addItem': { addon_code: 'extra_instance', quantity: 2 },
  'cards.tokenize': {
    billing_profile_id: 1,
    number: '4111111111111111',
    holder_name: 'OLGA SILVA',
    exp_month: 12,
    exp_year: 2030,
    cvv: '123',
  },
  'providerWebhook.ingest': {
    id: 'evt_05b708f961d739ea7eba7e4db318f621',
    event: 'PAYMENT_RECEIVED',
    dateCreated: '2026-01-31 12:00:00',
    payment: { id: 'pay_080225913252' },
  },
  'simulator.act': { action: 'pay' },
  'simulator.advanceClock': { advance_seconds: 2_592_000 },
};
