import type { WrittenDelivery } from '@posthorn/core/events/direct-delivery.ts';
import { eventBodySql } from '@posthorn/core/events/event-body.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import { holderIsGone } from '@posthorn/core/workers/pulse.ts';

/** Maximum deliveries to claim for one endpoint now. */
export interface Quota {
  webhookId: number;
  /** Maximum first attempts. */
  fresh: number;
  /** Maximum retries: those that are due, earliest first, unless `ahead` is given. */
  retries: number;
  /** If above 0: the oldest retries, due or not; those that are not due with at most this many attempts. */
  ahead: number;
  /** First attempts with a lower id are skipped. */
  fromId: number;
  /** If `ahead` is above 0: retries with a lower id are skipped. */
  aheadFromId: number;
}

/** A claimed delivery, held by this process until its lease ends, for one attempt. */
export interface ClaimedDelivery extends Omit<WrittenDelivery, 'webhookVersion' | 'body'> {
  /** Attempts recorded before this one. */
  attempts: number;
  /** A retry that was not due yet. */
  isEarly: boolean;
  /** Changes with the webhook's row; null if the webhook is gone. */
  webhookVersion: string | null;
  /** The body to sign and send; null once the event is past its retention. */
  body: string | null;
}

/**
 * Claims due deliveries by endpoint and leases them to a worker. A dead worker's deliveries are free as soon
 * as it is declared dead, and at the latest when the lease ends. The caller sets each endpoint's limit, so
 * that an endpoint at its cap or with an open breaker is not even read, however many deliveries wait for it.
 * The lease changes no index entry (a HOT update), and the statement does not wait for the disk: after a
 * power cut, a lost lease only means that the delivery is claimed again.
 */
export async function claimDeliveries(
  sql: Sql,
  options: {
    quotas: readonly Quota[];
    now: Date;
    /** The end of the lease. */
    until: Date;
    worker?: number | null;
    /** Ends of this worker's leases whose deliveries it never got. */
    lostLeases?: readonly Date[];
  },
): Promise<ClaimedDelivery[]> {
  const { quotas, now } = options;
  const { rows } = await sql.query<ClaimedRow>({
    name: 'deliveries-claim',
    text: CLAIM,
    values: [
      quotas.map((quota) => quota.webhookId),
      quotas.map((quota) => quota.fresh),
      quotas.map((quota) => quota.retries),
      quotas.map((quota) => quota.fromId),
      quotas.map((quota) => quota.ahead),
      now,
      options.until,
      options.worker ?? null,
      quotas.map((quota) => quota.aheadFromId),
      options.lostLeases ?? [],
    ],
  });
  return rows.map((row) => ({
    id: row.id,
    webhookId: row.webhook_id,
    eventId: row.event_id,
    attempts: row.attempts,
    isEarly: row.attempts > 0 && row.next_attempt_at > now,
    webhookVersion: row.webhook_version,
    type: row.type ?? '',
    instanceId: row.instance_id,
    traceId: row.trace_id,
    body: row.body,
  }));
}

interface ClaimedRow {
  id: number;
  webhook_id: number;
  event_id: string;
  attempts: number;
  next_attempt_at: Date;
  webhook_version: string | null;
  type: string | null;
  instance_id: string | null;
  trace_id: string | null;
  body: string | null;
}

// Claims only for enabled webhooks of active companies; deliveries of others wait until the webhook is
// enabled, the company is reactivated, or their events are dropped. Deliveries of a deleted webhook are
// claimed in order to discard them.
// First attempts are bounded by a row comparison and not by `webhook_id =`: otherwise the planner would take
// the order by id from the primary key and read everyone else's deliveries. So are retries of an endpoint that catches up.
// First attempts are due at once, whatever their time says: the clock of the database may have been set back since.
// A LIMIT of 0 reads nothing.
const IS_FREE = `(leased_until IS NULL OR leased_until < $6 OR ${holderIsGone('claimed_by')}
  OR leased_until = ANY ($10::timestamptz[]) AND claimed_by IS NOT DISTINCT FROM $8)`;
const CLAIM = `
WITH quota AS (
  SELECT q.webhook_id, q.fresh, q.retries, q.from_id, q.ahead, q.ahead_from_id, w.xmin::text AS version
  FROM (SELECT set_config('synchronous_commit', 'off', true)) nowait,
       unnest($1::int[], $2::int[], $3::int[], $4::bigint[], $5::int[], $9::bigint[])
         AS q (webhook_id, fresh, retries, from_id, ahead, ahead_from_id)
  LEFT JOIN webhooks w ON w.id = ANY (ARRAY[q.webhook_id])
  LEFT JOIN companies c ON c.id = ANY (ARRAY[w.company_id])
  WHERE w.enabled IS NOT FALSE AND (c.status IS NULL OR c.status = 'active')
), picked AS (
  SELECT d.id, q.version FROM quota q CROSS JOIN LATERAL (
    SELECT id FROM webhook_deliveries
    WHERE (webhook_id, id) >= (q.webhook_id, q.from_id) AND webhook_id <= q.webhook_id AND attempts = 0
      AND ${IS_FREE}
    ORDER BY webhook_id, id LIMIT q.fresh FOR UPDATE SKIP LOCKED) d
  UNION ALL
  SELECT d.id, q.version FROM quota q CROSS JOIN LATERAL (
    SELECT id FROM webhook_deliveries
    WHERE webhook_id = q.webhook_id AND attempts > 0
      AND next_attempt_at <= $6 AND ${IS_FREE}
    ORDER BY next_attempt_at LIMIT CASE WHEN q.ahead = 0 THEN q.retries ELSE 0 END FOR UPDATE SKIP LOCKED) d
  UNION ALL
  SELECT d.id, q.version FROM quota q CROSS JOIN LATERAL (
    SELECT id FROM webhook_deliveries
    WHERE (webhook_id, id) >= (q.webhook_id, q.ahead_from_id) AND webhook_id <= q.webhook_id AND attempts <> 0
      AND (next_attempt_at <= $6 OR (attempts <= q.ahead AND (early_from IS NULL OR early_from <= $6)))
      AND ${IS_FREE}
    ORDER BY webhook_id, id LIMIT CASE WHEN q.ahead = 0 THEN 0 ELSE q.retries END FOR UPDATE SKIP LOCKED) d
), claimed AS (
  UPDATE webhook_deliveries d SET leased_until = $7, claimed_by = $8
  FROM picked WHERE d.id = ANY (ARRAY[picked.id])
  RETURNING d.id, d.webhook_id, d.event_id, d.event_created_at, d.attempts, d.next_attempt_at, picked.version
)
SELECT c.id, c.webhook_id, c.event_id, c.attempts, c.next_attempt_at, c.version AS webhook_version, e.type, e.instance_id, e.trace_id, e.body
FROM claimed c
LEFT JOIN LATERAL (
  SELECT e.type, e.instance_id, e.trace_id, ${eventBodySql('e')} AS body FROM events e
  WHERE e.event_id = c.event_id AND e.created_at = c.event_created_at
  LIMIT 1
) e ON true
ORDER BY c.id`;

/** SQL: the deliveries of a condition, locked by their ids as by a manual retry: of two orders each could wait for the other. */
function inOrder(condition: string): string {
  return `id IN (SELECT id FROM webhook_deliveries WHERE ${condition} ORDER BY id FOR UPDATE)`;
}

/**
 * Releases leased deliveries without an attempt: at shutdown, or when their endpoint's breaker has opened.
 * Only those held by `worker`.
 */
export async function releaseDeliveries(
  sql: Sql,
  ids: readonly number[],
  worker: number | null,
): Promise<void> {
  if (ids.length === 0) return;
  await sql.query({
    name: 'deliveries-release',
    text: `UPDATE webhook_deliveries SET leased_until = NULL, claimed_by = NULL
           WHERE ${inOrder('id = ANY ($1::bigint[]) AND claimed_by IS NOT DISTINCT FROM $2')}`,
    values: [ids, worker],
  });
}

/**
 * Releases deliveries that were claimed as their events were written, if that transaction committed; false:
 * it has not, or not yet. A later claim has another lease and stays.
 */
export async function releaseWritten(
  sql: Sql,
  eventIds: readonly string[],
  lease: { until: Date; worker: number | null },
): Promise<boolean> {
  const { rowCount } = await sql.query(
    `UPDATE webhook_deliveries SET leased_until = NULL, claimed_by = NULL
     WHERE ${inOrder('event_id = ANY ($1::uuid[]) AND attempts = 0 AND leased_until = $2 AND claimed_by IS NOT DISTINCT FROM $3')}`,
    [eventIds, lease.until, lease.worker],
  );
  return rowCount !== 0;
}

/** Removes deliveries that are impossible by now: their webhook or their event is gone. */
export async function discardDeliveries(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await sql.query({
    name: 'deliveries-discard',
    text: `DELETE FROM webhook_deliveries WHERE ${inOrder('id = ANY ($1::bigint[])')}`,
    values: [ids],
  });
}
