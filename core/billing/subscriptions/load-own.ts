import { apiError } from '@posthorn/contract/api-error.ts';
import type { SubscriptionStatus } from '@posthorn/contract/billing/subscriptions.ts';
import type { Sql } from '../../platform/database/db.ts';

export interface SubscriptionRow {
  id: number;
  company_id: number;
  status: SubscriptionStatus;
  plan_code: string;
  next_plan_code: string | null;
  cancel_at_period_end: boolean;
  created_at: Date;
}

/** A subscription of the company; another company's is missing like one that never was: 404 SUBSCRIPTION_NOT_FOUND. */
export async function loadOwn(
  sql: Sql,
  input: { companyId: number; subscriptionId: number },
): Promise<SubscriptionRow> {
  const { rows } = await sql.query<SubscriptionRow>(
    `SELECT id, company_id, status, plan_code, next_plan_code, cancel_at_period_end, created_at
     FROM billing.subscriptions WHERE company_id = $1 AND id = $2`,
    [input.companyId, input.subscriptionId],
  );
  if (!rows[0]) throw apiError('SUBSCRIPTION_NOT_FOUND');
  return rows[0];
}

/** The states in which a subscription can be changed (BIL-10). */
export function isChangeable(status: SubscriptionStatus): boolean {
  return status === 'trialing' || status === 'active' || status === 'past_due';
}
