import { Migration } from '@mikro-orm/migrations';

/** What users tell the platform. It outlives the user who wrote it, and goes with the company. */
export class Feedback extends Migration {
  override name = '0067-feedback';

  override up(): void {
    this.addSql(`
      CREATE TABLE feedback (
        id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        company_id integer NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
        user_id    integer REFERENCES users (id) ON DELETE SET NULL,
        kind       text NOT NULL,
        message    text NOT NULL,
        page       text,
        trace_id   uuid,
        state      text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done')),
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL
      );
      CREATE INDEX feedback_company ON feedback (company_id);
      CREATE INDEX feedback_user ON feedback (user_id);
    `);
  }
}
