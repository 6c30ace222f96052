/** The tables of pending work: events of the provider, calls to it, and news for messaging. */
export const work = `
CREATE TABLE billing.provider_events (
  id                bigint PRIMARY KEY DEFAULT nextval('billing.fact_seq'),
  provider_event_id text NOT NULL UNIQUE,
  event             text NOT NULL,
  payload           jsonb NOT NULL,
  event_at          timestamptz NOT NULL,
  status            text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processed', 'ignored', 'failed')),
  attempts          integer NOT NULL DEFAULT 0,
  next_attempt_at   timestamptz,
  last_error        text,
  received_at       timestamptz NOT NULL,
  processed_at      timestamptz,
  trace_id          uuid
);
CREATE INDEX provider_events_due ON billing.provider_events (next_attempt_at, id) WHERE status = 'pending';

-- What is about to be created at the provider, written before the call: whatever happens to the answer,
-- the provider can be asked for our reference.
CREATE TABLE billing.provider_intents (
  reference   uuid PRIMARY KEY,
  company_id  integer NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('customer', 'subscription')),
  -- started: a request is at it until expires_at. undo: nobody was told that it was made, so it goes.
  state       text NOT NULL CHECK (state IN ('started', 'undo', 'done', 'undone')),
  expires_at  timestamptz NOT NULL,
  attempts    integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL,
  last_error  text,
  created_at  timestamptz NOT NULL
);
CREATE INDEX provider_intents_open ON billing.provider_intents (next_attempt_at) WHERE state IN ('started', 'undo');
CREATE INDEX provider_intents_company ON billing.provider_intents (company_id) WHERE state IN ('started', 'undo');

-- What the provider has still to be told or asked. One row a key: asking again raises its version, and a
-- run that began before ends without removing it.
CREATE TABLE billing.provider_tasks (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key             text NOT NULL UNIQUE,
  kind            text NOT NULL,
  company_id      integer NOT NULL,
  -- the row it is about: a subscription, a charge or a profile
  subject_id      integer NOT NULL,
  version         integer NOT NULL DEFAULT 1,
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL,
  leased_until    timestamptz,
  last_error      text,
  created_at      timestamptz NOT NULL,
  -- the worker that runs it: of one that died it is free at once
  claimed_by      integer
);
CREATE INDEX provider_tasks_due ON billing.provider_tasks (next_attempt_at);

-- News for the messaging service, in the transaction of the change; gone once the broker has confirmed it.
CREATE TABLE billing.outbox (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  company_id integer NOT NULL,
  body       jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
`;
