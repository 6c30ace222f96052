import { Migration } from '@mikro-orm/migrations';

/** The phones behind anonymous ids, as far as the network told them. */
export class Lids extends Migration {
  override name = '0065-lids';

  override up(): void {
    this.addSql(`
      CREATE TABLE lids (
        instance_id uuid NOT NULL,
        lid         text NOT NULL,
        company_id  integer NOT NULL,
        phone       text NOT NULL,
        learned_at  timestamptz NOT NULL,
        PRIMARY KEY (instance_id, lid)
      );
      CREATE INDEX lids_phone ON lids (instance_id, phone);
    `);
  }
}
