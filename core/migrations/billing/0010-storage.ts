import { Migration } from '@mikro-orm/migrations';

/** How much media a plan stores; who has one already is told to messaging too. */
export class Storage extends Migration {
  override name = '0010-storage';

  override up(): void {
    this.addSql(`
      ALTER TABLE billing.plans ADD COLUMN storage_mb integer NOT NULL DEFAULT 10240;
      UPDATE billing.plans SET storage_mb = 51200 WHERE product_code = 'pro';
      UPDATE billing.plans SET storage_mb = 204800 WHERE product_code = 'business';

      WITH changed AS (
        UPDATE billing.accounts account
        SET entitlements = jsonb_set(account.entitlements, '{limits,storage_mb}', to_jsonb(plan.storage_mb)),
            entitlement_version = account.entitlement_version + 1
        FROM billing.subscriptions subscription
        JOIN billing.plans plan ON plan.code = subscription.plan_code
        WHERE subscription.company_id = account.company_id
          AND subscription.status IN ('trialing', 'active', 'past_due', 'suspended')
          AND jsonb_typeof(account.entitlements -> 'limits') = 'object'
        RETURNING account.company_id, account.entitlement_version AS version, account.entitlements
      )
      INSERT INTO billing.outbox (company_id, body, created_at)
      SELECT company_id, entitlements || jsonb_build_object(
               'kind', 'limits_changed', 'company_id', company_id, 'version', version), now()
      FROM changed;
    `);
  }
}
