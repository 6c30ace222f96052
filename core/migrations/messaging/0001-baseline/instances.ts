/** Accounts of networks, the workers that own them, and what both tell each other. */
export const instances = `
-- Who works: one row a running worker, which it keeps young by a heartbeat. What a worker holds for a time
-- (deliveries, mails, scheduled sends) names it, so that it is free the moment the row is gone.
CREATE TABLE workers (
  id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text NOT NULL,
  -- part of the application_name of each of its connections: what to end when it is fenced
  tag         text NOT NULL,
  -- the connection that holds its locks
  backend_pid integer NOT NULL,
  started_at  timestamptz NOT NULL DEFAULT now(),
  -- by the database's clock alone
  beat_at     timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 20);

CREATE TABLE shards (
  shard       smallint PRIMARY KEY,
  epoch       bigint NOT NULL DEFAULT 0,
  owner       text,
  acquired_at timestamptz,
  owner_id    integer
);
INSERT INTO shards (shard) SELECT generate_series(0, 31);

CREATE TABLE instances (
  id           uuid PRIMARY KEY,
  company_id   integer NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
  name         text NOT NULL,
  driver       text NOT NULL,
  shard        smallint NOT NULL,
  state        text NOT NULL DEFAULT 'CREATED'
               CHECK (state IN ('CREATED', 'PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED')),
  -- what the users asked for last; the worker that owns the shard brings the session there
  wanted       text NOT NULL DEFAULT 'disconnected' CHECK (wanted IN ('connected', 'disconnected', 'logged_out')),
  -- raised by restart: a session of an older generation is closed and opened again
  generation   integer NOT NULL DEFAULT 0,
  settings     jsonb NOT NULL DEFAULT '{}',
  credentials  bytea,
  phone        text,
  jid          text,
  push_name    text,
  last_error   text,
  restriction  text,
  connected_at timestamptz,
  state_since  timestamptz NOT NULL DEFAULT now(),
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  -- was connected when the suspension of its company came, and is connected again when it ends
  resume_after_suspension boolean NOT NULL DEFAULT false,
  -- the proxy that it goes through, sealed, and what of it may be shown
  proxy        bytea,
  proxy_shown  text
);
CREATE UNIQUE INDEX instances_name ON instances (company_id, lower(name));
CREATE INDEX instances_shard ON instances (shard);

CREATE TABLE instance_moves (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  company_id  integer NOT NULL,
  instance_id uuid NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  from_state  text NOT NULL,
  to_state    text NOT NULL,
  reason      text,
  created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX instance_moves_instance ON instance_moves (instance_id, id);

CREATE TABLE instance_pairings (
  instance_id        uuid PRIMARY KEY REFERENCES instances (id) ON DELETE CASCADE,
  company_id         integer NOT NULL,
  qr                 text,
  qr_expires_at      timestamptz,
  -- a pairing code is asked for by writing the phone; the owner answers with the code
  code_phone         text,
  code               text,
  code_error         text,
  code_requested_at  timestamptz
);

-- What the session of a network remembers: keys, ratchets, messages.
CREATE TABLE session_keys (
  instance_id uuid NOT NULL,
  company_id  integer NOT NULL,
  kind        text NOT NULL,
  id          text NOT NULL,
  sealed      bytea NOT NULL,
  -- of what is kept for a time only; else null
  temporary_since timestamptz,
  PRIMARY KEY (instance_id, kind, id)
);

-- What each network cannot do, told by the workers that speak to it: the API answers 501 without asking them.
CREATE TABLE network_drivers (
  name  text PRIMARY KEY,
  lacks text[] NOT NULL
);

-- Questions of API processes to the worker that owns an instance, answered within seconds; a crash of
-- the database may forget them (unlogged), as it breaks the request that waits (docs/decisions/0013).
CREATE UNLOGGED TABLE network_calls (
  id          uuid PRIMARY KEY,
  instance_id uuid NOT NULL,
  shard       smallint NOT NULL,
  op          text NOT NULL,
  args        jsonb NOT NULL,
  state       text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'taken', 'answered')),
  answer      jsonb,
  error       text,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX network_calls_asked ON network_calls (shard) WHERE state = 'asked';

-- How often a worker has begun something that failed, or that a worker died of. A row is there only
-- while that is open.
CREATE TABLE work_tries (
  instance_id uuid NOT NULL,
  company_id  integer NOT NULL,
  -- a digest of what it is: a received message, a receipt, a task, ...
  subject     uuid NOT NULL,
  tries       integer NOT NULL,
  first_at    timestamptz NOT NULL,
  PRIMARY KEY (instance_id, subject)
);
CREATE INDEX work_tries_age ON work_tries (first_at);

-- Counts a minute, so that "the last 24 hours" is a sum over at most 1,440 rows.
CREATE TABLE usage_minutes (
  instance_id uuid NOT NULL,
  minute      timestamptz NOT NULL,
  company_id  integer NOT NULL,
  sent        integer NOT NULL DEFAULT 0,
  received    integer NOT NULL DEFAULT 0,
  delivered   integer NOT NULL DEFAULT 0,
  failed      integer NOT NULL DEFAULT 0,
  PRIMARY KEY (instance_id, minute)
) WITH (fillfactor = 70);

-- What readiness writes to find out that the database takes writes (core/platform/database/write-probe.ts).
CREATE TABLE write_probes (
  at timestamptz NOT NULL DEFAULT now(),
  padding bytea NOT NULL
)
-- Never vacuumed: free space that is found again would be filled without asking the disk for more.
WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
-- Neither compressed nor moved elsewhere, so that one row needs a page of its own.
ALTER TABLE write_probes ALTER COLUMN padding SET STORAGE PLAIN;
`;
