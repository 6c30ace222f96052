import { Baseline } from './0001-baseline.ts';
import { MessageRetention } from './0002-message-retention.ts';
import { EndsByTheClock } from './0003-ends-by-the-clock.ts';
import { FailedEvents } from './0004-failed-events.ts';

/** Every migration of the billing schema, oldest first. A landed one is never edited. */
export const billingMigrations = [Baseline, MessageRetention, EndsByTheClock, FailedEvents];
