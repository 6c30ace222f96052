import { Migration } from '@mikro-orm/migrations';

/**
 * What was sent to a chat stands in the row of the send's key: one row a send where there were two. The
 * duplicate rule (SND-13) asks for it by `content_id`. `sent_contents` stays, unwritten, for processes of the
 * version before, which run until they are replaced.
 */
export class AcceptedContents extends Migration {
  override name = '0055-accepted-contents';

  override up(): void {
    this.addSql(`
      ALTER TABLE idempotency_keys ADD COLUMN content_id uuid;
      CREATE INDEX idempotency_keys_content ON idempotency_keys (content_id) WHERE content_id IS NOT NULL;
      -- What was sent within the window counts on, under a key that nobody has.
      INSERT INTO idempotency_keys (id, body_hash, task_id, created_at, content_id)
      SELECT fresh, fresh, fresh, first_sent_at, id
      FROM (SELECT gen_random_uuid() AS fresh, id, first_sent_at FROM sent_contents
            WHERE first_sent_at > now() - interval '24 hours') AS recent;
    `);
  }
}
