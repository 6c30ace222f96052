import { Billing } from './0001-billing.ts';
import { Claims } from './0046-claims.ts';

/** Every migration of the billing schema, oldest first. A landed one is never edited. */
export const billingMigrations = [Billing, Claims];
