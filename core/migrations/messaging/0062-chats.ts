import { Migration } from '@mikro-orm/migrations';

/** Chats and contacts, kept current from traffic and from the device's sync. */
export class Chats extends Migration {
  override name = '0062-chats';

  override up(): void {
    this.addSql(chats);
    this.addSql(contacts);
  }
}

const chats = `
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
-- the received messages of a chat: which ones are unread
CREATE INDEX messages_received_in_chat ON messages (instance_id, chat_jid, id) WHERE direction = 'inbound';
`;

const contacts = `
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
`;
