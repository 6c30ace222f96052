import { Migration } from '@mikro-orm/migrations';

/** What readiness writes to find out that the database takes writes (core/platform/database/write-probe.ts). */
export class WriteProbes extends Migration {
  override name = '0050-write-probes';

  override up(): void {
    this.addSql(`
      CREATE TABLE write_probes (
        at timestamptz NOT NULL DEFAULT now(),
        padding bytea NOT NULL
      )
      -- Never vacuumed: free space that is found again would be filled without asking the disk for more.
      WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
      -- Neither compressed nor moved elsewhere, so that one row needs a page of its own.
      ALTER TABLE write_probes ALTER COLUMN padding SET STORAGE PLAIN;
    `);
  }
}
