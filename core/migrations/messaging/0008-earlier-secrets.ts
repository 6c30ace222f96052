import { Migration } from '@mikro-orm/migrations';

/** Secrets from before the previous one still sign until their own grace ends (WHK-6). */
export class EarlierSecrets extends Migration {
  override name = '0008-earlier-secrets';

  override up(): void {
    this.addSql(`ALTER TABLE webhooks ADD COLUMN earlier_secrets bytea`);
  }
}
