/** The tables of the catalogue: plans and add-ons. */
export const catalog = `
CREATE TABLE billing.plans (
  code                text PRIMARY KEY,
  product_code        text NOT NULL,
  display_name        text NOT NULL,
  display_subtitle    text NOT NULL,
  cycle               text NOT NULL CHECK (cycle IN ('monthly', 'yearly')),
  currency            text NOT NULL,
  price_cents         integer NOT NULL CHECK (price_cents >= 0),
  trial_days          integer NOT NULL,
  sort_order          integer NOT NULL,
  -- what it allows; see LIM-4, PLAN_LIMIT_REACHED
  max_instances       integer NOT NULL,
  max_users           integer NOT NULL,
  max_webhooks        integer NOT NULL,
  requests_per_minute integer NOT NULL,
  -- one that is withdrawn is offered no more; who has it keeps it
  offered             boolean NOT NULL DEFAULT true,
  -- how much media it stores
  storage_mb          integer NOT NULL DEFAULT 10240
);

CREATE TABLE billing.addons (
  code                  text PRIMARY KEY,
  display_name          text NOT NULL,
  description           text NOT NULL,
  cycle                 text NOT NULL CHECK (cycle IN ('monthly', 'yearly')),
  currency              text NOT NULL,
  price_cents           integer NOT NULL CHECK (price_cents >= 0),
  unit_label            text NOT NULL,
  max_quantity          integer NOT NULL CHECK (max_quantity > 0),
  sort_order            integer NOT NULL,
  -- what one unit adds to the plan's limits
  adds_instances        integer NOT NULL DEFAULT 0,
  adds_users            integer NOT NULL DEFAULT 0,
  adds_webhooks         integer NOT NULL DEFAULT 0,
  adds_requests         integer NOT NULL DEFAULT 0,
  offered               boolean NOT NULL DEFAULT true
);

INSERT INTO billing.plans (code, product_code, display_name, display_subtitle, cycle, currency, price_cents, trial_days,
  sort_order, max_instances, max_users, max_webhooks, requests_per_minute, storage_mb) VALUES
  ('starter_monthly',  'starter',  'Starter',  'For one team',           'monthly', 'BRL',   4990, 30, 10, 10,  10,  20,  300,  10240),
  ('pro_monthly',      'pro',      'Pro',      'For a growing company',  'monthly', 'BRL',  14990, 30, 20, 30,  30,  50, 1200,  51200),
  ('business_monthly', 'business', 'Business', 'For many teams',         'monthly', 'BRL',  49990, 30, 30, 100, 100, 100, 6000, 204800),
  ('starter_yearly',   'starter',  'Starter',  'Two months for free',    'yearly',  'BRL',  49900, 30, 40, 10,  10,  20,  300,  10240),
  ('pro_yearly',       'pro',      'Pro',      'Two months for free',    'yearly',  'BRL', 149900, 30, 50, 30,  30,  50, 1200,  51200),
  ('business_yearly',  'business', 'Business', 'Two months for free',    'yearly',  'BRL', 499900, 30, 60, 100, 100, 100, 6000, 204800);

INSERT INTO billing.addons (code, display_name, description, cycle, currency, price_cents, unit_label, max_quantity,
  sort_order, adds_instances, adds_users, adds_webhooks, adds_requests) VALUES
  ('extra_instance', 'Extra instance', 'One more connected account',           'monthly', 'BRL', 1990, 'instance', 50, 10, 1, 0, 0, 0),
  ('extra_user',     'Extra user',     'One more user in the console',         'monthly', 'BRL',  990, 'user',     50, 20, 0, 1, 0, 0),
  ('extra_requests', 'Extra requests', '600 more API requests each minute',    'monthly', 'BRL', 2990, 'pack',     20, 30, 0, 0, 0, 600);
`;
