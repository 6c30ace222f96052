import { Migration } from '@mikro-orm/migrations';

/** Until when a task is being typed; the index has a row for each instance that types now, and no other. */
export class Typing extends Migration {
  override name = '0085-typing';

  override up(): void {
    this.addSql(`
      ALTER TABLE outbox ADD COLUMN typing_until timestamptz;
      CREATE INDEX outbox_typing ON outbox (instance_id) WHERE typing_until IS NOT NULL
    `);
  }
}
