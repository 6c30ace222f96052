import { Migration } from '@mikro-orm/migrations';

/**
 * Who works: one row a running worker, which it keeps young by a heartbeat. What a worker holds for a time
 * (deliveries, mails, scheduled sends) names it, so that it is free the moment the row is gone.
 */
export class Owners extends Migration {
  override name = '0045-owners';

  override up(): void {
    this.addSql(`
      CREATE TABLE workers (
        id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name        text NOT NULL,
        -- part of the application_name of each of its connections: what to end when it is fenced
        tag         text NOT NULL,
        -- the connection that holds its locks
        backend_pid integer NOT NULL,
        started_at  timestamptz NOT NULL DEFAULT now(),
        -- by the database's clock alone
        beat_at     timestamptz NOT NULL DEFAULT clock_timestamp()
      ) WITH (fillfactor = 20);
      ALTER TABLE shards ADD COLUMN owner_id integer;
      -- No index on any of them: a claim stays a HOT update, and nobody looks rows up by their holder.
      ALTER TABLE webhook_deliveries ADD COLUMN claimed_by integer;
      ALTER TABLE mails ADD COLUMN claimed_by integer;
      ALTER TABLE scheduled_sends ADD COLUMN claimed_by integer;
    `);
  }
}
