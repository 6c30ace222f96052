import { Migration } from '@mikro-orm/migrations';

/** Jobs that run in one process at a time say where they run, and when they ran last (`worker/lone-job.ts`). */
export class LoneJobs extends Migration {
  override name = '0007-lone-jobs';

  override up(): void {
    this.addSql(`
CREATE TABLE lone_jobs (
  name        text PRIMARY KEY,
  -- host and process, as in workers
  worker      text NOT NULL,
  started_at  timestamptz NOT NULL,
  -- null while the first round runs
  finished_at timestamptz
);
`);
  }
}
