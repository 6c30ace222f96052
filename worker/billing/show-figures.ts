import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';

/** Shows in /metrics how much of billing waits for an operator; returns the function that counts such payments. */
export function showBillingFigures({ db, metrics }: { db: Db; metrics: Metrics }): () => void {
  metrics.gauges(
    'posthorn_billing_events_failed',
    'Events of the payment provider whose processing failed for good, and that nobody has processed again',
    async () => {
      const { rows } = await db.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM billing.provider_events WHERE status = 'failed'`,
      );
      return rows.map(({ count }) => ({ value: count }));
    },
  );
  return metrics.counter(
    'posthorn_billing_payments_after_end_total',
    'Payments for subscriptions that were over, which brought nothing back',
  );
}
