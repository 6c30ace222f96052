import { Migration } from '@mikro-orm/migrations';

/**
 * Deliveries are found by endpoint, not by time: an endpoint that is at its cap or broken is left out
 * of the claim and costs nothing, however many rows wait for it. With one index by time every claim had
 * to walk over them.
 */
export class Events extends Migration {
  override name = '0003-events';

  override up(): void {
    this.addSql(`
      DROP INDEX webhook_deliveries_due;
      -- First attempts, in the order of the events.
      CREATE INDEX webhook_deliveries_fresh ON webhook_deliveries (webhook_id, id) WHERE attempts = 0;
      -- Retries, by when they are due; a row moves here once, after its first failure.
      CREATE INDEX webhook_deliveries_retries ON webhook_deliveries (webhook_id, next_attempt_at) WHERE attempts > 0;
      -- A queue: rows die as fast as they come, and dead ones stand in the way of every claim.
      ALTER TABLE webhook_deliveries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0);
      -- The views of 4.8 that look at a company by time.
      CREATE INDEX webhook_delivery_logs_company ON webhook_delivery_logs (company_id, id);
    `);
  }
}
