import { Billing } from './0001-billing.ts';
import { OneBudget } from './0035-one-budget.ts';

/** Every migration of the billing schema, oldest first. A landed one is never edited. */
export const billingMigrations = [Billing, OneBudget];
