import { Migration } from '@mikro-orm/migrations';

/**
 * A company has one budget of requests over both services: billing counts in messaging's `rate_windows`. What
 * still runs of the version before finds that table too, by the same name further down its search path.
 */
export class OneBudget extends Migration {
  override name = '0035-one-budget';

  override up(): void {
    this.addSql('DROP TABLE billing.rate_windows');
  }
}
