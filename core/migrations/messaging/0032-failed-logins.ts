import { Migration } from '@mikro-orm/migrations';

/** When failed logins of an address were last put into the audit log, which happens once in a while only. */
export class FailedLogins extends Migration {
  override name = '0032-failed-logins';

  override up(): void {
    this.addSql('ALTER TABLE login_failures ADD COLUMN audited_at timestamptz');
  }
}
