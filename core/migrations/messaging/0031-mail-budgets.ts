import { Migration } from '@mikro-orm/migrations';

/** How many mails of a kind a mailbox may still get, whoever asks for them. */
export class MailBudgets extends Migration {
  override name = '0031-mail-budgets';

  override up(): void {
    this.addSql(`
      CREATE TABLE mail_budgets (
        -- a keyed hash: who was written to can't be read here
        mailbox bytea NOT NULL,
        kind    text NOT NULL,
        -- when the whole budget is there again; each mail moves it by one interval
        full_at timestamptz NOT NULL,
        PRIMARY KEY (mailbox, kind)
      ) WITH (fillfactor = 70);
      CREATE INDEX mail_budgets_full ON mail_budgets (full_at);
    `);
  }
}
