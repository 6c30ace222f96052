import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import { statementOfRows } from '@posthorn/core/platform/database/input-rows.ts';

/** What came of one attempt. */
export interface AttemptResult {
  deliveryId: number;
  /** From 1. */
  attempt: number;
  webhookUrl: string;
  eventType: string;
  instanceId: string | null;
  /** Null when there was no answer. */
  statusCode: number | null;
  /** Empty on success. */
  errorClass: ErrorClass;
  /** The first 4 kB of the answer, as text without NUL. */
  response: string;
  latencyMs: number;
  endedAt: Date;
  /** Null: this was the last attempt, successful or not. */
  nextAttemptAt: Date | null;
}

/**
 * Writes the log of many attempts and, in the same statement, removes their deliveries or sets when to
 * try again. The attempt number is the guard: a result of a worker whose lease had run out, and whose
 * attempt another one has made and recorded meanwhile, changes nothing and is not logged twice.
 */
export async function recordAttempts(sql: Sql, results: readonly AttemptResult[]): Promise<void> {
  const urls = distinct(results.map((result) => result.webhookUrl));
  const types = distinct(results.map((result) => result.eventType));
  // Locked in the order in which a webhook's are deleted, and retries asked for: they would wait in a ring otherwise.
  const sorted = results.toSorted((a, b) => a.deliveryId - b.deliveryId);
  const rows = sorted.map(({ webhookUrl, eventType, ...result }) => ({
    ...result,
    // One text that PostgreSQL cannot store would keep all that come after it from being recorded.
    response: result.response.replaceAll('\0', '\uFFFD').toWellFormed(),
    urlAt: urls.indexOf(webhookUrl),
    typeAt: types.indexOf(eventType),
  }));
  await sql.query(RECORD({ results: rows }, { urls: [...urls.values], types: [...types.values] }));
}

/** Texts that repeat go over the wire once, with their place in each row. */
function distinct(texts: readonly string[]): { values: Iterable<string>; indexOf(text: string): number } {
  const places = new Map<string, number>();
  // Arrays of PostgreSQL begin at 1.
  for (const text of texts) if (!places.has(text)) places.set(text, places.size + 1);
  return { values: places.keys(), indexOf: (text) => places.get(text)! };
}

// Each result comes out of the statement that touched its delivery: joining the two afterwards would be
// n times n, for the planner can't know how many rows they return (10 of 17 ms for 256 results).
const TOUCHED = `d.company_id, d.webhook_id, d.event_id, d.event_created_at, r.*`;
const RECORD = statementOfRows({
  name: 'attempts-record',
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
    },
  },
  values: ['urls', 'types'],
  text: ({ results, urls, types }) => `
WITH r AS ${results}, finished AS (
  DELETE FROM webhook_deliveries d USING r
  WHERE d.id = ANY (ARRAY[r."deliveryId"]) AND d.attempts = r.attempt - 1 AND r."nextAttemptAt" IS NULL
  RETURNING ${TOUCHED}
), postponed AS (
  UPDATE webhook_deliveries d SET attempts = r.attempt, next_attempt_at = r."nextAttemptAt", leased_until = NULL,
    claimed_by = NULL
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

/**
 * An endpoint that answered 410 gets nothing more until its owner enables it again (WHK-11). If the webhook
 * has another URL by now, the answer was not its endpoint's.
 */
export async function disableGoneWebhook(
  sql: Sql,
  gone: { webhookId: number; url: string; at: Date },
): Promise<void> {
  await sql.query(
    `UPDATE webhooks SET enabled = false, disabled_reason = 'gone', updated_at = $3
     WHERE id = $1 AND url = $2 AND enabled`,
    [gone.webhookId, gone.url, gone.at],
  );
}
