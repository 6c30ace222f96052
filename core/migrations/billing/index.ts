import { Baseline } from './0001-baseline.ts';

/** Every migration of the billing schema, oldest first. A landed one is never edited. */
export const billingMigrations = [Baseline];
