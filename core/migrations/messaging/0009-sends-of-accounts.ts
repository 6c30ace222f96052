import { Migration } from '@mikro-orm/migrations';

/** Sends with a lower `seq` in the outbox were accepted for another account, and never go out (SND-54). */
export class SendsOfAccounts extends Migration {
  override name = '0009-sends-of-accounts';

  override up(): void {
    this.addSql(`ALTER TABLE instances ADD COLUMN first_own_seq bigint`);
  }
}
