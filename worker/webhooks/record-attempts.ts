import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import { statementOfRows } from '@posthorn/core/platform/database/input-rows.ts';

/** The result of one attempt, to record. */
export interface AttemptResult {
  deliveryId: number;
  /** From 1. */
  attempt: number;
  webhookUrl: string;
  /** The version of the configuration it was made with. */
  webhookVersion: string;
  eventType: string;
  instanceId: string | null;
  /** Null if there was no answer. */
  statusCode: number | null;
  /** Empty on success. */
  errorClass: ErrorClass;
  /** The first 4 kB of the answer, as text without NUL. */
  response: string;
  latencyMs: number;
  endedAt: Date;
  /** Null: this was the last attempt, successful or not. */
  nextAttemptAt: Date | null;
  /** Before this, the next attempt is not made early; null: it may be at any time. */
  earlyFrom: Date | null;
}

/**
 * Writes the log of many attempts and, in the same statement, removes their deliveries or sets their next
 * attempt. The attempt number is the guard: if a worker's lease ran out and another one made and recorded the
 * attempt, the late result changes nothing and is not logged twice.
 */
export async function recordAttempts(sql: Sql, results: readonly AttemptResult[]): Promise<void> {
  const urls = distinct(results.map((result) => result.webhookUrl));
  const types = distinct(results.map((result) => result.eventType));
  // Sorted so that rows are locked in the same order as when a webhook's deliveries are deleted or retried;
  // otherwise they would deadlock.
  const sorted = results.toSorted((a, b) => a.deliveryId - b.deliveryId);
  const rows = sorted.map(({ webhookUrl, webhookVersion: _, eventType, ...result }) => ({
    ...result,
    // One text that PostgreSQL cannot store would block the recording of all later results.
    response: result.response.replaceAll('\0', '\uFFFD').toWellFormed(),
    urlAt: urls.indexOf(webhookUrl),
    typeAt: types.indexOf(eventType),
  }));
  const kinds = new Set(results.map((result) => result.nextAttemptAt === null));
  const record = kinds.size > 1 ? RECORD_BOTH : RECORD;
  await sql.query(record({ results: rows }, { urls: [...urls.values], types: [...types.values] }));
}

/** Repeated texts are sent once, and each row holds their index. */
function distinct(texts: readonly string[]): { values: Iterable<string>; indexOf(text: string): number } {
  const places = new Map<string, number>();
  // PostgreSQL arrays begin at 1.
  for (const text of texts) if (!places.has(text)) places.set(text, places.size + 1);
  return { values: places.keys(), indexOf: (text) => places.get(text)! };
}

// Each result comes out of the statement that touched its delivery: joining the two afterwards would take n
// times n steps, because the planner can't know how many rows they return (10 of 17 ms for 256 results).
const TOUCHED = `d.company_id, d.webhook_id, d.event_id, d.event_created_at, r.*`;
const HELD = `, held AS MATERIALIZED (
  SELECT id FROM webhook_deliveries WHERE id = ANY (ARRAY(SELECT "deliveryId" FROM r)) ORDER BY id FOR UPDATE
)`;
const recording = (name: string, { locks }: { locks: boolean }) =>
  statementOfRows({
    name,
    sets: {
      results: {
        deliveryId: 'bigint',
        attempt: 'integer',
        urlAt: 'integer',
        typeAt: 'integer',
        instanceId: 'uuid',
        statusCode: 'integer',
        errorClass: 'text',
        response: 'text',
        latencyMs: 'integer',
        endedAt: 'timestamptz',
        nextAttemptAt: 'timestamptz',
        earlyFrom: 'timestamptz',
      },
    },
    values: ['urls', 'types'],
    text: ({ results, urls, types }) => `
WITH r AS ${results}${locks ? HELD : ''}, finished AS (
  DELETE FROM webhook_deliveries d USING r
  WHERE d.id = ANY (ARRAY[r."deliveryId"]) AND d.attempts = r.attempt - 1 AND r."nextAttemptAt" IS NULL
    ${locks ? 'AND (SELECT count(*) FROM held) > 0' : ''}
  RETURNING ${TOUCHED}
), postponed AS (
  UPDATE webhook_deliveries d SET attempts = r.attempt, next_attempt_at = r."nextAttemptAt",
    early_from = r."earlyFrom", leased_until = NULL, claimed_by = NULL
  FROM r
  WHERE d.id = ANY (ARRAY[r."deliveryId"]) AND d.attempts = r.attempt - 1 AND r."nextAttemptAt" IS NOT NULL
  RETURNING ${TOUCHED}
)
INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, instance_id, event_id, event_type,
  event_created_at, attempt, success, status_code, error_class, response, latency_ms, created_at)
SELECT company_id, webhook_id, (${urls}::text[])["urlAt"], "instanceId", event_id, (${types}::text[])["typeAt"],
  event_created_at, attempt, "errorClass" = '', "statusCode", "errorClass", response, "latencyMs", "endedAt"
FROM (SELECT * FROM finished UNION ALL SELECT * FROM postponed) touched
ORDER BY "endedAt", "deliveryId"`,
  });

/** All of one kind: each row is locked as it is changed. */
const RECORD = recording('attempts-record', { locks: false });
/** Deliveries that end and others that go on: the first part of the statement would lock its own before the second. */
const RECORD_BOTH = recording('attempts-record-both', { locks: true });

/**
 * Disables the webhook of an endpoint that answered 410, until its owner enables it again (WHK-11). If the
 * webhook is no longer as the attempt knew it, the endpoint answered for settings that the owner has changed since, perhaps
 * by enabling the webhook again: nothing changes, and `hasChanged` is true.
 */
export async function disableGoneWebhook(
  sql: Sql,
  gone: { webhookId: number; webhookVersion: string; webhookUrl: string; at: Date },
): Promise<{ hasChanged: boolean }> {
  const disabled = await sql.query(
    `UPDATE webhooks SET enabled = false, disabled_reason = 'gone', updated_at = $3
     WHERE id = $1 AND xmin::text = $2 AND enabled`,
    [gone.webhookId, gone.webhookVersion, gone.at],
  );
  if (disabled.rowCount !== 0) return { hasChanged: false };
  // A statement of its own: one that waited for a lock would still see the webhook as it was before. Another
  // attempt under way may have disabled it already.
  const left = await sql.query(
    `SELECT 1 FROM webhooks WHERE id = $1 AND (url <> $2 OR disabled_reason IS DISTINCT FROM 'gone')`,
    [gone.webhookId, gone.webhookUrl],
  );
  return { hasChanged: left.rowCount !== 0 };
}
