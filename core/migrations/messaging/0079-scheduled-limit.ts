import { Migration } from '@mikro-orm/migrations';

/** How many scheduled sends of a company wait is looked up with every new one. */
export class ScheduledLimit extends Migration {
  override name = '0079-scheduled-limit';

  override up(): void {
    this.addSql(`
      CREATE INDEX scheduled_sends_waiting ON scheduled_sends (company_id) WHERE status IN ('scheduled', 'claimed')
    `);
  }
}
