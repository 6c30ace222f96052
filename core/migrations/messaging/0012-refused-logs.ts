import { Migration } from '@mikro-orm/migrations';

/** What is stuck is looked for among the attempts that were refused for good, however many there are beside them. */
export class RefusedLogs extends Migration {
  override name = '0012-refused-logs';

  override up(): void {
    this.addSql(`
      CREATE INDEX webhook_delivery_logs_refused ON webhook_delivery_logs (company_id, id)
        WHERE error_class IN ('permanent_4xx', 'payload_rejected')
    `);
  }
}
