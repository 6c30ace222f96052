import { Migration } from '@mikro-orm/migrations';

/** Retries of an endpoint that is back are claimed oldest first, before they are due (WHK-27). */
export class EarlyRetries extends Migration {
  override name = '0002-early-retries';

  override up(): void {
    this.addSql(`
-- When the next attempt may be made before it is due: null: at any time. A receiver that asked for time gets it, and no
-- two attempts in a row are early.
ALTER TABLE webhook_deliveries ADD COLUMN early_from timestamptz;
-- The order of the events. A row comes here with its first failure. Not "> 0": where the planner may take the index by due time
-- too, it does while the table is small, and reads all that waits for each claim.
CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (webhook_id, id) WHERE attempts <> 0;
`);
  }
}
