import { deleteInBatches } from '../platform/database/partitions.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { BillingDeps } from './deps.ts';

/** An event that was not processed, or will be again, has no `processed_at`; an intent that is at work is young. */
const RECORDS = [
  { table: 'billing.provider_events', column: 'processed_at' },
  {
    table: 'billing.provider_intents',
    column: `CASE WHEN state IN ('done', 'undone') THEN created_at END`,
  },
];

/**
 * Removes the events of the provider and the intents that ended `retentionDays` ago. The facts that events told stay
 * with their charges. Safe to run anywhere, any number of times.
 */
export async function removeOldRecords(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  input: { retentionDays: number; signal?: AbortSignal },
): Promise<void> {
  const { retentionDays, signal } = input;
  const before = new Date(deps.clock.now().getTime() - retentionDays * DAY_MS);
  for (const records of RECORDS)
    await deleteInBatches(deps.db, { ...records, before, ...(signal && { signal }) });
}
