import { Migration } from '@mikro-orm/migrations';

/**
 * Bodies that a network posts to us are kept until the owner of their instance has recorded them (docs/decisions/0038).
 */
export class NetworkInbox extends Migration {
  override name = '0003-network-inbox';

  override up(): void {
    this.addSql(`
CREATE TABLE network_inbox (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  instance_id uuid NOT NULL,
  company_id  integer NOT NULL,
  -- the bytes as they came, whose signature was checked
  body        bytea NOT NULL,
  received_at timestamptz NOT NULL
);
CREATE INDEX network_inbox_instance ON network_inbox (instance_id, id);
-- JSON of a few hundred bytes: compressed as it is stored, and never searched.
ALTER TABLE network_inbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
`);
  }
}
