import { Migration } from '@mikro-orm/migrations';

/**
 * What addresses without a credential have asked for in their running minute, and where logins succeeded
 * lately. Both hold hashes only; the first is unlogged, since a crash may forget a minute.
 */
export class LimitsOfStrangers extends Migration {
  override name = '0035-limits-of-strangers';

  override up(): void {
    this.addSql(`
      CREATE UNLOGGED TABLE address_windows (
        key_hash bytea PRIMARY KEY,
        minute   bigint NOT NULL,
        used     integer NOT NULL
      ) WITH (fillfactor = 50)
    `);
    this.addSql(`
      CREATE TABLE login_successes (
        key_hash bytea PRIMARY KEY,
        last_at  timestamptz NOT NULL
      )
    `);
  }
}
