import { Migration } from '@mikro-orm/migrations';

/** A task names the worker that runs it: of one that died it is free at once. */
export class Claims extends Migration {
  override name = '0046-claims';

  override up(): void {
    this.addSql('ALTER TABLE billing.provider_tasks ADD COLUMN claimed_by integer');
  }
}
