import { Migration } from '@mikro-orm/migrations';

/** Messages past their retention leave the database and are kept as files (docs/decisions/0049). */
export class MessageArchives extends Migration {
  override name = '0006-message-archives';

  override up(): void {
    this.addSql(`
-- of the company's plan; null: as the settings say
ALTER TABLE companies ADD COLUMN message_retention_days integer;

CREATE TABLE message_archives (
  id          uuid PRIMARY KEY,
  company_id  integer NOT NULL,
  instance_id uuid NOT NULL,
  -- when its first and its last message were made
  first_at    timestamptz NOT NULL,
  last_at     timestamptz NOT NULL,
  messages    integer NOT NULL,
  size_bytes  bigint NOT NULL,
  storage_key text NOT NULL,
  created_at  timestamptz NOT NULL
);
CREATE INDEX message_archives_instance ON message_archives (instance_id, first_at);
CREATE INDEX message_archives_company ON message_archives (company_id);

CREATE TRIGGER message_archives_discarded AFTER DELETE ON message_archives REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION media_discard();
`);
  }
}
