import { Migration } from '@mikro-orm/migrations';

/** One trial for a company and its document, whichever companies come with it and however often. */
export class Trials extends Migration {
  override name = '0020-trials';

  override up(): void {
    this.addSql(`
      CREATE TABLE billing.trials (
        -- keyed: it stays when the data of its company is removed, and must not tell whose it is
        document_digest bytea PRIMARY KEY,
        -- of the subscription that it was for, as the provider knows it
        reference       uuid NOT NULL UNIQUE,
        claimed_at      timestamptz NOT NULL,
        -- the subscription was made; a claim without is void once its request has ended
        used_at         timestamptz
      )
    `);
    this.addSql('CREATE INDEX profiles_document ON billing.profiles (document_number)');
  }
}
