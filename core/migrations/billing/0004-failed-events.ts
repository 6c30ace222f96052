import { Migration } from '@mikro-orm/migrations';

/** Finds the few events of the provider that failed for good among all that are kept: /metrics counts them. */
export class FailedEvents extends Migration {
  override name = '0004-failed-events';

  override up(): void {
    this.addSql(
      `CREATE INDEX provider_events_failed ON billing.provider_events (id) WHERE status = 'failed'`,
    );
  }
}
