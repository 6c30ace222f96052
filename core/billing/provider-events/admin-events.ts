import { apiError } from '@posthorn/contract/api-error.ts';
import type { BillingMetrics, ProviderEventRow } from '@posthorn/contract/billing/admin.ts';
import { isUnavailable } from '../../platform/database/database-errors.ts';
import { oneRow } from '../../platform/database/one-row.ts';
import { cutPage } from '../../platform/database/paging.ts';
import type { BillingDeps } from '../deps.ts';

interface Row
  extends Omit<ProviderEventRow, 'next_attempt_at' | 'event_at' | 'received_at' | 'processed_at'> {
  next_attempt_at: Date | null;
  event_at: Date;
  received_at: Date;
  processed_at: Date | null;
}

/** The provider events, newest first, by keyset; payloads are not shown. */
export async function listProviderEvents(
  deps: Pick<BillingDeps, 'db'>,
  input: {
    status?: string | undefined;
    event?: string | undefined;
    before?: number | undefined;
    limit: number;
  },
): Promise<{ data: ProviderEventRow[]; next_before: number | null }> {
  const { rows } = await deps.db.query<Row>(
    `SELECT id, provider_event_id, event, status, attempts, last_error,
            CASE WHEN status = 'pending' THEN next_attempt_at END AS next_attempt_at, event_at, received_at, processed_at
     FROM billing.provider_events
     WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR event = $2) AND ($3::bigint IS NULL OR id < $3)
     ORDER BY id DESC LIMIT $4`,
    [input.status ?? null, input.event ?? null, input.before ?? null, input.limit + 1],
  );
  const { page, last } = cutPage(rows, input.limit);
  return {
    data: page.map((row) => ({
      ...row,
      next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
      event_at: row.event_at.toISOString(),
      received_at: row.received_at.toISOString(),
      processed_at: row.processed_at?.toISOString() ?? null,
    })),
    next_before: last?.id ?? null,
  };
}

/**
 * Queues an event again, with all its attempts. Its effects are written as facts, so one that was processed
 * before changes nothing. Throws 404 EVENT_NOT_FOUND, 502 ENQUEUE_FAILED when it can't be queued.
 */
export async function reprocessEvent(
  deps: Pick<BillingDeps, 'db' | 'clock'>,
  input: { eventId: number },
): Promise<void> {
  let queued: number | null;
  try {
    const { rowCount } = await deps.db.query(
      `WITH queued AS (
         UPDATE billing.provider_events
         SET status = 'pending', attempts = 0, next_attempt_at = $2, last_error = NULL, processed_at = NULL
         WHERE id = $1 RETURNING 1
       )
       SELECT pg_notify('billing', 'events') FROM queued`,
      [input.eventId, deps.clock.now()],
    );
    queued = rowCount;
  } catch (cause) {
    if (isUnavailable(cause)) throw cause;
    throw apiError('ENQUEUE_FAILED', { cause });
  }
  if (queued === 0) throw apiError('EVENT_NOT_FOUND');
}

/**
 * The figures of BIL-20. The recurring revenue sums active and past-due subscriptions, yearly ones divided by twelve.
 */
export async function readMetrics(deps: Pick<BillingDeps, 'db'>): Promise<BillingMetrics> {
  const { rows } = await deps.db.query<BillingMetrics>(
    `SELECT count(*) FILTER (WHERE subscription.status = 'active')::int AS total_active_subs,
            count(*) FILTER (WHERE subscription.status = 'trialing')::int AS total_trialing,
            count(*) FILTER (WHERE subscription.status = 'past_due')::int AS total_past_due,
            count(*) FILTER (WHERE subscription.status = 'suspended')::int AS total_suspended,
            coalesce(round(sum(items.cents / CASE plan.cycle WHEN 'yearly' THEN 12.0 ELSE 1 END)
              FILTER (WHERE subscription.status IN ('active', 'past_due'))), 0)::bigint AS monthly_recurring_cents
     FROM billing.subscriptions subscription
     JOIN billing.plans plan ON plan.code = subscription.plan_code
     JOIN LATERAL (SELECT sum(quantity * unit_price_cents) AS cents FROM billing.subscription_items
                   WHERE subscription_id = subscription.id AND removed_at IS NULL) items ON true
     WHERE subscription.status IN ('trialing', 'active', 'past_due', 'suspended')`,
  );
  return oneRow(rows);
}
