/** The tables behind the limits: counts of requests, logins, mails and spent tickets. */
export const limits = `
-- One row a company: the minute that is being counted. A crash may forget it (unlogged).
CREATE UNLOGGED TABLE rate_windows (
  company_id integer PRIMARY KEY,
  minute     bigint NOT NULL,
  used       integer NOT NULL
) WITH (fillfactor = 50);

-- What addresses without a credential have asked for in their running minute, as hashes. A crash may forget it
-- (unlogged).
CREATE UNLOGGED TABLE address_windows (
  key_hash bytea PRIMARY KEY,
  minute   bigint NOT NULL,
  used     integer NOT NULL
) WITH (fillfactor = 50);

-- Keyed by a hash of the e-mail, not by user: an address nobody registered locks like any other.
CREATE TABLE login_failures (
  email_hash        bytea PRIMARY KEY,
  failures          integer NOT NULL,
  window_started_at timestamptz NOT NULL,
  locked_until      timestamptz,
  -- when they were last put into the audit log, which happens once in a while only
  audited_at        timestamptz
) WITH (fillfactor = 70);

-- Where logins succeeded lately, as hashes.
CREATE TABLE login_successes (
  key_hash bytea PRIMARY KEY,
  last_at  timestamptz NOT NULL
);

-- How many mails of a kind a mailbox may still get, whoever asks for them.
CREATE TABLE mail_budgets (
  -- a keyed hash: who was written to can't be read here
  mailbox bytea NOT NULL,
  kind    text NOT NULL,
  -- when the whole budget is there again; each mail moves it by one interval
  full_at timestamptz NOT NULL,
  PRIMARY KEY (mailbox, kind)
) WITH (fillfactor = 70);
CREATE INDEX mail_budgets_full ON mail_budgets (full_at);

-- Tickets for live connections that were used: each opens one. Rows go when the ticket would have expired.
CREATE UNLOGGED TABLE spent_tickets (
  id         uuid PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
`;
