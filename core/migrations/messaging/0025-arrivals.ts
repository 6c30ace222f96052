import { Migration } from '@mikro-orm/migrations';

/** What keeps one bad message from stopping everything behind it. */
export class Arrivals extends Migration {
  override name = '0025-arrivals';

  override up(): void {
    this.addSql(`
      -- How often a worker has begun something that failed, or that a worker died of. A row is there only
      -- while that is open.
      CREATE TABLE work_tries (
        instance_id uuid NOT NULL,
        company_id  integer NOT NULL,
        -- a digest of what it is: a received message, a receipt, a task, ...
        subject     uuid NOT NULL,
        tries       integer NOT NULL,
        first_at    timestamptz NOT NULL,
        PRIMARY KEY (instance_id, subject)
      );
      CREATE INDEX work_tries_age ON work_tries (first_at);
      -- why a received message is not whole: its media could not be had, or its content not be read
      ALTER TABLE messages ADD COLUMN incomplete_reason text;
    `);
  }
}
