/** The simulated provider's own memory. It stands for another company's database: billing reads none of it. */
export const simulated = `
CREATE TABLE billing.simulated_customers (
  id                 text PRIMARY KEY,
  external_reference text,
  fields             jsonb NOT NULL,
  deleted            boolean NOT NULL DEFAULT false,
  created_at         timestamptz NOT NULL
);
CREATE INDEX simulated_customers_reference ON billing.simulated_customers (external_reference);

CREATE TABLE billing.simulated_cards (
  token       text PRIMARY KEY,
  customer_id text NOT NULL,
  brand       text NOT NULL,
  last4       text NOT NULL
);

CREATE TABLE billing.simulated_subscriptions (
  id                 text PRIMARY KEY,
  external_reference text,
  customer_id        text NOT NULL,
  billing_type       text NOT NULL,
  card_token         text,
  value_cents        integer NOT NULL,
  cycle              text NOT NULL,
  next_due_date      date NOT NULL,
  description        text,
  deleted            boolean NOT NULL DEFAULT false,
  created_at         timestamptz NOT NULL
);
CREATE INDEX simulated_subscriptions_reference ON billing.simulated_subscriptions (external_reference);
CREATE INDEX simulated_subscriptions_customer ON billing.simulated_subscriptions (customer_id);

CREATE TABLE billing.simulated_payments (
  id              text PRIMARY KEY,
  subscription_id text NOT NULL,
  customer_id     text NOT NULL,
  billing_type    text NOT NULL,
  status          text NOT NULL,
  value_cents     integer NOT NULL,
  due_date        date NOT NULL,
  paid_on         date,
  created_at      timestamptz NOT NULL
);
CREATE INDEX simulated_payments_subscription ON billing.simulated_payments (subscription_id, due_date);
CREATE INDEX simulated_payments_due ON billing.simulated_payments (due_date) WHERE status = 'PENDING';

CREATE TABLE billing.simulated_webhooks (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  body            jsonb NOT NULL,
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL
);
CREATE INDEX simulated_webhooks_due ON billing.simulated_webhooks (next_attempt_at, id);
`;
