import { Billing } from './0001-billing.ts';
import { Storage } from './0010-storage.ts';
import { Trials } from './0020-trials.ts';
import { OneBudget } from './0035-one-budget.ts';
import { Claims } from './0046-claims.ts';
import { PaidPlans } from './0073-paid-plans.ts';

/** Every migration of the billing schema, oldest first. A landed one is never edited. */
export const billingMigrations = [Billing, Storage, Trials, OneBudget, Claims, PaidPlans];
