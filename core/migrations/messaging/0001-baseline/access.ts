/** Sessions, codes, links, social identities and the mail outbox. */
export const access = `
-- A login begins a family of refresh tokens; each use of one rotates it into the next.
CREATE TABLE refresh_families (
  id         uuid PRIMARY KEY,
  company_id integer NOT NULL,
  user_id    integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX refresh_families_user ON refresh_families (user_id);

CREATE TABLE refresh_tokens (
  token_hash bytea PRIMARY KEY,
  family_id  uuid NOT NULL REFERENCES refresh_families (id) ON DELETE CASCADE,
  company_id integer NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  rotated_at timestamptz
);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_expires ON refresh_tokens (expires_at);

-- JWTs that were logged out, until they would have expired anyway.
CREATE TABLE revoked_jwts (
  jti        text PRIMARY KEY,
  company_id integer NOT NULL,
  expires_at timestamptz NOT NULL
);

-- Six digits, kept as a keyed hash. No code_hash: cleared after five wrong ones (ACC-18).
CREATE TABLE email_codes (
  user_id    integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  purpose    text NOT NULL CHECK (purpose IN ('verify', 'change')),
  company_id integer NOT NULL,
  new_email  text,
  code_hash  bytea,
  attempts   integer NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL,
  resent_at  timestamptz,
  PRIMARY KEY (user_id, purpose)
);

-- Links that let their bearer choose a password, once. The row goes when the link is used.
CREATE TABLE password_links (
  token_hash bytea PRIMARY KEY,
  user_id    integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  company_id integer NOT NULL,
  purpose    text NOT NULL CHECK (purpose IN ('reset', 'invite')),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX password_links_user ON password_links (user_id);

CREATE TABLE oauth_identities (
  provider   text NOT NULL,
  subject    text NOT NULL,
  user_id    integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  company_id integer NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (provider, subject)
);
CREATE INDEX oauth_identities_user ON oauth_identities (user_id);

-- One row a login that was begun at a provider; taken out by the callback, so that it serves once.
CREATE TABLE oauth_states (
  state_hash   bytea PRIMARY KEY,
  provider     text NOT NULL,
  browser_hash bytea NOT NULL,
  -- PKCE verifier and nonce, sealed
  secrets      bytea NOT NULL,
  expires_at   timestamptz NOT NULL
);

-- A proven identity that still lacks a company. E-mail and name, sealed.
CREATE TABLE oauth_pending (
  token_hash bytea PRIMARY KEY,
  provider   text NOT NULL,
  subject    text NOT NULL,
  profile    bytea NOT NULL,
  expires_at timestamptz NOT NULL
);

-- Mails to send, written in the transaction of what they tell. Content and recipient are sealed, since
-- they carry codes and links; the row goes when the mail was sent.
CREATE TABLE mails (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  company_id      integer,
  kind            text NOT NULL,
  sealed          bytea NOT NULL,
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL,
  last_error      text,
  failed_at       timestamptz,
  trace_id        uuid,
  created_at      timestamptz NOT NULL,
  -- The worker that sends it. No index: a claim stays a HOT update, and nobody looks rows up by their holder.
  claimed_by      integer
) WITH (fillfactor = 70);
CREATE INDEX mails_due ON mails (next_attempt_at) WHERE failed_at IS NULL;
`;
