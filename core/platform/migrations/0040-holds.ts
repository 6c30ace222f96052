import { Migration } from '@mikro-orm/migrations';

/**
 * What users want of an instance is kept as it is while its company is suspended: the hold is read from the
 * company. Instances that a suspension had disconnected under the older rule are wanted connected again.
 */
export class Holds extends Migration {
  override name = '0040-holds';

  override up(): void {
    this.addSql(
      `UPDATE instances SET wanted = 'connected' WHERE resume_after_suspension AND wanted = 'disconnected'`,
    );
    this.addSql('ALTER TABLE instances DROP COLUMN resume_after_suspension');
  }
}
