import { Migration } from '@mikro-orm/migrations';

/** Which plan a charge pays for, from the first word of its payment on. */
export class PaidPlans extends Migration {
  override name = '0073-paid-plans';

  override up(): void {
    this.addSql('ALTER TABLE billing.charges ADD COLUMN paid_plan_code text REFERENCES billing.plans (code)');
    // A card that was confirmed and not settled has paid as well.
    this.addSql(`
      UPDATE billing.charges charge SET paid_plan_code = plan.code, paid_cycle = plan.cycle
      FROM billing.subscriptions subscription
      JOIN billing.plans plan ON plan.code = coalesce(subscription.next_plan_code, subscription.plan_code)
      WHERE subscription.id = charge.subscription_id AND charge.status = 'confirmed' AND charge.paid_cycle IS NULL
    `);
  }
}
