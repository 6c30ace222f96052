/** Chats and what hangs on them, kept current from traffic and from the device's sync. */
export const chats = `
CREATE TABLE chats (
  instance_id        uuid NOT NULL,
  company_id         integer NOT NULL,
  chat_jid           text COLLATE "C" NOT NULL,
  -- of a group; a person's name stands with the contact
  name               text NOT NULL DEFAULT '',
  unread_count       integer NOT NULL DEFAULT 0,
  marked_unread      boolean NOT NULL DEFAULT false,
  archived           boolean NOT NULL DEFAULT false,
  pinned             boolean NOT NULL DEFAULT false,
  -- Unix ms; 0 without an end, null when it is not muted
  muted_until        bigint,
  last_message_id    uuid,
  last_message_at    timestamptz,
  -- what lists go by: the last message, or when the chat was first heard of
  active_at          timestamptz NOT NULL,
  -- the account's revision that set each of these
  read_revision      bigint NOT NULL DEFAULT 0,
  archived_revision  bigint NOT NULL DEFAULT 0,
  pinned_revision    bigint NOT NULL DEFAULT 0,
  muted_revision     bigint NOT NULL DEFAULT 0,
  -- of the latest reading that came in the order of the messages
  read_echo_revision bigint NOT NULL DEFAULT 0,
  -- what the network handed over at the pairing was taken
  has_history        boolean NOT NULL DEFAULT false,
  updated_at         timestamptz NOT NULL,
  PRIMARY KEY (instance_id, chat_jid)
) WITH (fillfactor = 85);
CREATE INDEX chats_active ON chats (instance_id, active_at, chat_jid);
CREATE INDEX chats_kept ON chats (instance_id, active_at, chat_jid) WHERE NOT archived;
CREATE INDEX chats_archived ON chats (instance_id, active_at, chat_jid) WHERE archived;
CREATE INDEX chats_unread ON chats (instance_id, active_at, chat_jid) WHERE unread_count > 0 OR marked_unread;

CREATE TABLE contacts (
  instance_id      uuid NOT NULL,
  company_id       integer NOT NULL,
  jid              text COLLATE "C" NOT NULL,
  -- as the phone saved it; empty when it is not saved
  name             text NOT NULL DEFAULT '',
  -- as the contact calls itself
  push_name        text NOT NULL DEFAULT '',
  blocked          boolean NOT NULL DEFAULT false,
  name_revision    bigint NOT NULL DEFAULT 0,
  blocked_revision bigint NOT NULL DEFAULT 0,
  sort_name        text COLLATE "C"
    -- bounded: it stands in an index and in the cursor of a page
    GENERATED ALWAYS AS (left(lower(CASE WHEN name <> '' THEN name ELSE push_name END), 128)) STORED,
  updated_at       timestamptz NOT NULL,
  PRIMARY KEY (instance_id, jid)
);
CREATE INDEX contacts_by_name ON contacts (instance_id, sort_name, jid);

-- Whose labels, chats and contacts an instance has, and how far the history is that came with its pairing.
CREATE TABLE device_syncs (
  instance_id uuid PRIMARY KEY,
  company_id  integer NOT NULL,
  -- the account that the stored state is of
  account_jid text NOT NULL,
  -- taken of its history so far
  chats       integer NOT NULL DEFAULT 0,
  contacts    integer NOT NULL DEFAULT 0,
  messages    integer NOT NULL DEFAULT 0,
  -- history.synced was told
  finished_at timestamptz,
  updated_at  timestamptz NOT NULL
);

-- The groups that an instance is in, as the network last told of them.
CREATE TABLE chat_groups (
  instance_id      uuid NOT NULL,
  jid              text NOT NULL,
  company_id       integer NOT NULL,
  name             text NOT NULL,
  description      text NOT NULL,
  owner_jid        text,
  group_created_at timestamptz,
  announce         boolean NOT NULL,
  locked           boolean NOT NULL,
  -- [{jid, role}]: always read and written as a whole, and networks bound it
  participants     jsonb NOT NULL,
  -- when a fact last changed it, by our clock: an answer that was asked for before that is older
  told_at          timestamptz NOT NULL,
  -- the network's time of that fact: one of before is a repeat
  fact_at          timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  PRIMARY KEY (instance_id, jid)
);

-- The phones behind anonymous ids, as far as the network told them.
CREATE TABLE lids (
  instance_id uuid NOT NULL,
  lid         text NOT NULL,
  company_id  integer NOT NULL,
  phone       text NOT NULL,
  learned_at  timestamptz NOT NULL,
  PRIMARY KEY (instance_id, lid)
);
CREATE INDEX lids_phone ON lids (instance_id, phone);

-- Labels, as the devices of an account share them. The revision is the account's own: a row holds what its highest
-- one said. The columns told_* are what events have told, which follow the echo and not the API.
CREATE TABLE labels (
  instance_id      uuid NOT NULL,
  company_id       integer NOT NULL,
  label_id         text NOT NULL,
  name             text NOT NULL,
  color            smallint NOT NULL,
  -- a deleted one stays: an older change that comes late must not bring it back
  deleted          boolean NOT NULL,
  revision         bigint NOT NULL,
  -- of its latest deletion: what was put on chats and messages before is gone
  deleted_revision bigint NOT NULL DEFAULT 0,
  told_revision    bigint NOT NULL DEFAULT 0,
  told_exists      boolean NOT NULL DEFAULT false,
  -- somebody is creating a label in this slot
  reserved_until   timestamptz,
  updated_at       timestamptz NOT NULL,
  PRIMARY KEY (instance_id, label_id)
);

CREATE TABLE label_links (
  instance_id     uuid NOT NULL,
  company_id      integer NOT NULL,
  label_id        text NOT NULL,
  chat_jid        text NOT NULL,
  -- the message_id of one that we know, else the network's id; empty for the chat itself
  message_key     text NOT NULL DEFAULT '',
  associated      boolean NOT NULL,
  revision        bigint NOT NULL,
  told_revision   bigint NOT NULL DEFAULT 0,
  told_associated boolean NOT NULL DEFAULT false,
  updated_at      timestamptz NOT NULL,
  PRIMARY KEY (instance_id, label_id, chat_jid, message_key)
);
CREATE INDEX label_links_chat ON label_links (instance_id, chat_jid)
  WHERE associated AND message_key = '';

-- Notes on chats, which never leave the service.
CREATE TABLE chat_notes (
  id             integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  company_id     integer NOT NULL,
  instance_id    uuid NOT NULL,
  chat_jid       text NOT NULL,
  note           text NOT NULL,
  author_user_id integer NOT NULL,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL
);
CREATE INDEX chat_notes_chat ON chat_notes (instance_id, chat_jid, id);
`;
