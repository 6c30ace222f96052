import { Billing } from './0001-billing.ts';
import { Trials } from './0020-trials.ts';

/** Every migration of the billing schema, oldest first. A landed one is never edited. */
export const billingMigrations = [Billing, Trials];
