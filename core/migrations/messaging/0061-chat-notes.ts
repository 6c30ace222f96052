import { Migration } from '@mikro-orm/migrations';

/** Notes on chats, which never leave the service. */
export class ChatNotes extends Migration {
  override name = '0061-chat-notes';

  override up(): void {
    this.addSql(`
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
    `);
  }
}
