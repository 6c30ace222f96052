import { Migration } from '@mikro-orm/migrations';

/**
 * Labels, as the devices of an account share them. `revision` is the account's own: a row holds what its highest
 * one said. The `told_` columns are what events have told, which follow the echo and not the API.
 */
export class Labels extends Migration {
  override name = '0060-labels';

  override up(): void {
    this.addSql(`
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
    `);
  }
}
