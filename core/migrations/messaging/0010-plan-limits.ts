import { Migration } from '@mikro-orm/migrations';

/** What the billing service tells of a company, besides the limits in its row. */
export class PlanLimits extends Migration {
  override name = '0010-plan-limits';

  override up(): void {
    this.addSql(`
      ALTER TABLE companies
        -- the newest news that was applied; older ones that come late are dropped
        ADD COLUMN billing_version bigint NOT NULL DEFAULT 0,
        -- since when the subscription is suspended: its instances stay disconnected (BIL-18)
        ADD COLUMN billing_suspended_at timestamptz;
      -- Was connected when the suspension came, and is connected again when it ends.
      ALTER TABLE instances ADD COLUMN resume_after_suspension boolean NOT NULL DEFAULT false;
    `);
  }
}
