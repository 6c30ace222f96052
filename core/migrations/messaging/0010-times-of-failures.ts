import { Migration } from '@mikro-orm/migrations';

/** The times of an address's failed logins that count for its lock (ACC-8). */
export class TimesOfFailures extends Migration {
  override name = '0010-times-of-failures';

  override up(): void {
    this.addSql(`ALTER TABLE login_failures ADD COLUMN failed_at timestamptz[] NOT NULL DEFAULT '{}'`);
  }
}
