/** Messages and the tasks that make them: sends, changes, scheduled ones, stories. */
export const messages = `
CREATE TABLE messages (
  id               uuid PRIMARY KEY,
  company_id       integer NOT NULL,
  instance_id      uuid NOT NULL,
  direction        text NOT NULL CHECK (direction IN ('inbound', 'outbound')),
  type             text NOT NULL,
  chat_jid         text NOT NULL,
  sender_jid       text,
  status           text NOT NULL,
  content          jsonb NOT NULL,
  idempotency_key  text,
  -- the network's id of an inbound message; an outbound one's is derived from its id
  network_id       text,
  quoted_id        text,
  media_id         uuid,
  is_forwarded     boolean NOT NULL DEFAULT false,
  forwarding_score integer NOT NULL DEFAULT 0,
  push_name        text,
  failed_reason    text,
  trace_id         uuid,
  created_at       timestamptz NOT NULL,
  sent_at          timestamptz,
  delivered_at     timestamptz,
  read_at          timestamptz,
  played_at        timestamptz,
  failed_at        timestamptz,
  edited_at        timestamptz,
  deleted_at       timestamptz,
  -- why a received message is not whole: its media could not be had, or its content not be read
  incomplete_reason text
) WITH (fillfactor = 85);
CREATE INDEX messages_instance ON messages (instance_id, id);
CREATE UNIQUE INDEX messages_inbound ON messages (instance_id, network_id) WHERE network_id IS NOT NULL;
-- the received messages of a chat: which ones are unread
CREATE INDEX messages_received_in_chat ON messages (instance_id, chat_jid, id) WHERE direction = 'inbound';

-- One row a task that is not finished. The seq is the accept order of an instance.
CREATE TABLE outbox (
  task_id      uuid PRIMARY KEY,
  seq          bigint GENERATED ALWAYS AS IDENTITY,
  company_id   integer NOT NULL,
  instance_id  uuid NOT NULL,
  shard        smallint NOT NULL,
  operation    text NOT NULL,
  message_id   uuid,
  payload      jsonb,
  trace_id     uuid,
  attempts     integer NOT NULL DEFAULT 0,
  published_at timestamptz,
  created_at   timestamptz NOT NULL,
  -- until when it is being typed
  typing_until timestamptz
) WITH (fillfactor = 70);
CREATE INDEX outbox_instance ON outbox (instance_id, seq);
CREATE INDEX outbox_unpublished ON outbox (seq) WHERE published_at IS NULL;
-- A row for each instance that types now, and no other.
CREATE INDEX outbox_typing ON outbox (instance_id) WHERE typing_until IS NOT NULL;

-- id is a hash of (instance, operation, key), body_hash one of the request body. Kept 72 h.
CREATE TABLE idempotency_keys (
  id         uuid PRIMARY KEY,
  body_hash  uuid NOT NULL,
  message_id uuid,
  task_id    uuid NOT NULL,
  created_at timestamptz NOT NULL,
  -- A hash of (instance, chat, content), by which the duplicate rule (SND-13) asks what was sent to a chat. It stands
  -- here so that a send writes one row and not two.
  content_id uuid
);
CREATE INDEX idempotency_keys_created ON idempotency_keys USING brin (created_at);
CREATE INDEX idempotency_keys_content ON idempotency_keys (content_id) WHERE content_id IS NOT NULL;

-- What the anti-spam guard knows of a contact (SND-14).
CREATE TABLE chat_guards (
  instance_id          uuid NOT NULL,
  chat_jid             text NOT NULL,
  company_id           integer NOT NULL,
  outbound_consecutive integer NOT NULL DEFAULT 0,
  score                real NOT NULL DEFAULT 0,
  score_at             timestamptz NOT NULL,
  PRIMARY KEY (instance_id, chat_jid)
) WITH (fillfactor = 70);

-- How delete and edit tasks ended: they have no message of their own whose state a replay could show.
CREATE TABLE finished_changes (
  task_id     uuid PRIMARY KEY,
  status      text NOT NULL CHECK (status IN ('sent', 'failed')),
  finished_at timestamptz NOT NULL
);
CREATE INDEX finished_changes_finished ON finished_changes USING brin (finished_at);

-- The id is the message_id of what will be sent.
CREATE TABLE scheduled_sends (
  id              uuid PRIMARY KEY,
  company_id      integer NOT NULL,
  instance_id     uuid NOT NULL,
  type            text NOT NULL,
  send_at         timestamptz NOT NULL,
  status          text NOT NULL CHECK (status IN ('scheduled', 'claimed', 'queued', 'failed', 'cancelled')),
  body            jsonb NOT NULL,
  idempotency_key text NOT NULL,
  force           boolean NOT NULL,
  user_id         integer NOT NULL,
  token_id        integer,
  is_superadmin   boolean NOT NULL,
  failed_reason   text,
  trace_id        uuid,
  -- a claim that is older than a minute belongs to a worker that died
  claimed_at      timestamptz,
  created_at      timestamptz NOT NULL,
  claimed_by      integer,
  -- when it ended, for its retention
  finished_at     timestamptz
);
CREATE INDEX scheduled_sends_due ON scheduled_sends (send_at) WHERE status IN ('scheduled', 'claimed');
CREATE INDEX scheduled_sends_instance ON scheduled_sends (instance_id, send_at);
-- Those that a worker is at: few at any time.
CREATE INDEX scheduled_sends_claimed ON scheduled_sends (instance_id) WHERE status = 'claimed';
-- How many of a company wait is looked up with every new one.
CREATE INDEX scheduled_sends_waiting ON scheduled_sends (company_id) WHERE status IN ('scheduled', 'claimed');

CREATE TABLE status_feed (
  id          uuid PRIMARY KEY,
  company_id  integer NOT NULL,
  instance_id uuid NOT NULL,
  direction   text NOT NULL CHECK (direction IN ('inbound', 'outbound')),
  -- the network's id of an inbound status, the message_id of one of ours
  status_id   text NOT NULL,
  author_jid  text NOT NULL,
  type        text NOT NULL CHECK (type IN ('text', 'image', 'video', 'audio')),
  content     text NOT NULL,
  media_id    uuid,
  posted_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX status_feed_status ON status_feed (instance_id, status_id);
CREATE INDEX status_feed_instance ON status_feed (instance_id, posted_at, id);

CREATE TABLE status_views (
  instance_id  uuid NOT NULL,
  status_id    text NOT NULL,
  viewer_jid   text NOT NULL,
  company_id   integer NOT NULL,
  receipt_type text NOT NULL CHECK (receipt_type IN ('read', 'played')),
  viewed_at    timestamptz NOT NULL,
  PRIMARY KEY (instance_id, status_id, viewer_jid)
);

-- Who sent what in the playground: what budgets are counted by, and what a user may see.
CREATE TABLE playground_sends (
  -- that of its message
  id         uuid PRIMARY KEY,
  company_id integer NOT NULL,
  user_id    integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  phone      text NOT NULL,
  -- the message that shows it: its own, or the one that it reacts to
  shown_by   uuid NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX playground_sends_user ON playground_sends (user_id, created_at);
CREATE INDEX playground_sends_company ON playground_sends (company_id);
`;
