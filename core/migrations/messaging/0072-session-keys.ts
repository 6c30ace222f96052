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
        updated_at  timestamptz NOT NULL,
        PRIMARY KEY (instance_id, kind, id)
      );
      -- What is kept for a time only.
      CREATE INDEX session_keys_age ON session_keys (updated_at) WHERE kind IN ('message', 'plain', 'tail');
      ALTER TABLE instances
        ADD COLUMN proxy       bytea,
        ADD COLUMN proxy_shown text
    `);
  }
}
