import { Migration } from '@mikro-orm/migrations';

/** Who sent what in the playground: what budgets are counted by, and what a user may see. */
export class Playground extends Migration {
  override name = '0068-playground';

  override up(): void {
    this.addSql(`
      CREATE TABLE playground_sends (
        -- that of its message
        id         uuid PRIMARY KEY,
        company_id integer NOT NULL,
        user_id    integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        phone      text NOT NULL,
        -- the message that shows it: its own, or the one that it reacts to
        shown_by   uuid NOT NULL,
        created_at timestamptz NOT NULL
      );
      CREATE INDEX playground_sends_user ON playground_sends (user_id, created_at);
      CREATE INDEX playground_sends_company ON playground_sends (company_id);
    `);
  }
}
