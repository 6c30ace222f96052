import { Migration } from '@mikro-orm/migrations';

/** What the session of a network remembers (keys, ratchets, messages), and the proxy that an instance goes through. */
export class SessionKeys extends Migration {
  override name = '0072-session-keys';

  override up(): void {
    this.addSql(`
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
      ALTER TABLE instances
        ADD COLUMN proxy       bytea,
        ADD COLUMN proxy_shown text
    `);
  }
}
