import { apiError } from '@posthorn/contract/api-error.ts';
import { WEBHOOK_PAYLOAD_RETENTION_DAYS } from '@posthorn/contract/limits.ts';
import type { RetryResult } from '@posthorn/contract/messaging/webhooks.ts';
import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Db } from '../platform/database/db.ts';
import type { Orm } from '../platform/database/orm.ts';
import { DAY_MS } from '../platform/durations.ts';
import type { Clock } from '../platform/process/clock.ts';
import { holderIsGone } from '../workers/pulse.ts';
import { loadWebhook } from './find-webhook.ts';
import { RETRIES_NOTIFICATION } from './notifications.ts';
import { reportCompany } from './report-scope.ts';

export interface RetryDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
}

/**
 * Attempts deliveries again at once, by the ids of their logs (WHK-15, WHK-16). A retry that was scheduled is
 * replaced, not added to; the attempt numbers go on. A delivery whose attempt is under way is left to it.
 */
export async function retryDeliveries(
  deps: RetryDeps,
  input: { principal: Principal; logIds: readonly number[] },
): Promise<RetryResult> {
  return retry(deps, { companyId: reportCompany(input.principal), webhookId: null, logIds: input.logIds });
}

/**
 * The same for one log of a webhook. 404 WEBHOOK_NOT_FOUND, NOT_FOUND (log); 409 CONFLICT when the payload is
 * gone, the webhook is disabled or an attempt is under way.
 */
export async function retryDelivery(
  deps: RetryDeps & { orm: Orm },
  input: { principal: Principal; webhookId: number; logId: number },
): Promise<RetryResult> {
  const webhook = await loadWebhook(reachOf(deps.orm, input.principal), input.webhookId);
  const result = await retry(deps, {
    companyId: webhook.companyId,
    webhookId: webhook.id,
    logIds: [input.logId],
  });
  const reason = result.skipped[0]?.reason;
  if (reason === 'not_found') throw apiError('NOT_FOUND');
  if (reason !== undefined) throw apiError('CONFLICT', { message: CONFLICTS[reason] ?? reason });
  return result;
}

const CONFLICTS: Record<string, string> = {
  payload_expired: 'the payload is no longer kept',
  webhook_disabled: 'the webhook is disabled',
  in_progress: 'an attempt is under way',
};

async function retry(
  deps: RetryDeps,
  asked: { companyId: number | null; webhookId: number | null; logIds: readonly number[] },
): Promise<RetryResult> {
  const now = deps.clock.now();
  const logIds = [...new Set(asked.logIds)];
  const kept = new Date(now.getTime() - WEBHOOK_PAYLOAD_RETENTION_DAYS * DAY_MS);
  const rows = await deps.db.transaction(async (sql) => {
    const found = await sql.query<TargetRow>(FIND, [logIds, asked.companyId, asked.webhookId, kept]);
    const targets = found.rows.filter((row) => row.reason === null);
    const keys = [targets.map((row) => row.event_id), targets.map((row) => row.webhook_id)];
    // Waits for results of these deliveries that are just being recorded: the attempt queued next then sees their
    // logs and is numbered after them.
    await sql.query(LOCK, keys);
    const queued = await sql.query<{ event_id: string; webhook_id: number }>(QUEUE, [...keys, now]);
    const done = new Set(queued.rows.map((row) => `${row.event_id} ${row.webhook_id}`));
    return found.rows.map((row) => ({ ...row, queued: done.has(`${row.event_id} ${row.webhook_id}`) }));
  });
  deps.bus.notify('deliveries', RETRIES_NOTIFICATION);
  return toResult(asked.logIds, rows);
}

interface TargetRow {
  log_id: number;
  event_id: string;
  webhook_id: number;
  reason: string | null;
}

function toResult(logIds: readonly number[], rows: (TargetRow & { queued: boolean })[]): RetryResult {
  const byLog = new Map(rows.map((row) => [row.log_id, row]));
  const taken = new Set<string>();
  const result: RetryResult = { queued: 0, skipped: [] };
  for (const logId of logIds) {
    const row = byLog.get(logId);
    const delivery = row && `${row.event_id} ${row.webhook_id}`;
    const reason = !row
      ? 'not_found'
      : (row.reason ?? (!row.queued ? 'in_progress' : taken.has(delivery!) ? 'duplicate' : null));
    if (reason !== null) result.skipped.push({ log_id: logId, reason });
    else {
      taken.add(delivery!);
      result.queued += 1;
    }
  }
  return result;
}

// By company and id, which is an index: one probe for each log, where a join by webhook would look for
// every log at every webhook. Logs of a deleted webhook are not found.
const FIND = `
SELECT l.id AS log_id, l.event_id, l.webhook_id,
  CASE WHEN NOT w.enabled THEN 'webhook_disabled'
       WHEN l.event_created_at <= $4 OR NOT EXISTS (
         SELECT 1 FROM events e WHERE e.event_id = l.event_id AND e.created_at = l.event_created_at)
       THEN 'payload_expired' END AS reason
FROM companies c
JOIN webhook_delivery_logs l ON l.company_id = c.id AND l.id = ANY ($1::bigint[])
JOIN webhooks w ON w.id = l.webhook_id
WHERE ($2::int IS NULL OR c.id = $2) AND ($3::int IS NULL OR w.id = $3)`;

const LOCK = `
SELECT 1 FROM webhook_deliveries d
JOIN unnest($1::uuid[], $2::int[]) AS t (event_id, webhook_id) USING (event_id, webhook_id)
ORDER BY d.id FOR UPDATE OF d`;

const QUEUE = `
INSERT INTO webhook_deliveries AS d
  (company_id, webhook_id, event_id, event_created_at, attempts, next_attempt_at, created_at)
SELECT l.company_id, t.webhook_id, t.event_id, min(l.event_created_at), max(l.attempt), $3, $3
FROM (SELECT DISTINCT * FROM unnest($1::uuid[], $2::int[])) AS t (event_id, webhook_id)
JOIN webhook_delivery_logs l ON l.event_id = t.event_id AND l.webhook_id = t.webhook_id
GROUP BY l.company_id, t.webhook_id, t.event_id
ON CONFLICT (event_id, webhook_id) DO UPDATE SET next_attempt_at = excluded.next_attempt_at
  WHERE d.leased_until IS NULL OR d.leased_until < excluded.next_attempt_at OR ${holderIsGone('d.claimed_by')}
RETURNING d.event_id, d.webhook_id`;
