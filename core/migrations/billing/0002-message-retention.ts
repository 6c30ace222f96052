import { Migration } from '@mikro-orm/migrations';

/** How long a plan keeps messages (docs/decisions/0049). */
export class MessageRetention extends Migration {
  override name = '0002-message-retention';

  override up(): void {
    this.addSql(`
-- null: as the settings of messaging say
ALTER TABLE billing.plans ADD COLUMN message_retention_days integer CHECK (message_retention_days >= 30);
`);
  }
}
