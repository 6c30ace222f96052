import { Migration } from '@mikro-orm/migrations';

/** What the delivery views (WHK-19, WHK-20) look for is rare among many successes. */
export class DeliveryReports extends Migration {
  override name = '0006-delivery-reports';

  override up(): void {
    this.addSql(`
      CREATE INDEX webhook_delivery_logs_failures ON webhook_delivery_logs (company_id, id) WHERE NOT success;
      CREATE INDEX webhook_delivery_logs_hard ON webhook_delivery_logs (company_id, id)
        WHERE attempt >= 3 AND error_class IN ('permanent_4xx', 'payload_rejected');
    `);
  }
}
