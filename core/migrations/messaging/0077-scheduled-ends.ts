import { Migration } from '@mikro-orm/migrations';

/** When a scheduled send ended, for its retention; and an index of those that a worker is at, few at any time. */
export class ScheduledEnds extends Migration {
  override name = '0077-scheduled-ends';

  override up(): void {
    this.addSql(`
      -- Null where an earlier version ended it: then the time that it was for counts.
      ALTER TABLE scheduled_sends ADD COLUMN finished_at timestamptz;
      CREATE INDEX scheduled_sends_claimed ON scheduled_sends (instance_id) WHERE status = 'claimed';
    `);
  }
}
