import { type Sql, type Transaction, write } from '../platform/database/db.ts';
import { statementOfRows } from '../platform/database/input-rows.ts';
import type { DeliveryReservation, WrittenDeliveries } from './direct-delivery.ts';
import { eventBodySql } from './event-body.ts';

export interface NewEvent {
  eventId: string;
  companyId: number;
  instanceId: string | null;
  type: string;
  data: Record<string, unknown>;
  traceId: string | null;
  createdAt: Date;
}

/**
 * Writes events to the log and, in the same statement, one delivery for each webhook they match, so a
 * change, its event and what must be delivered commit together or not at all. It is called inside the
 * transaction of the change, by `tellEvents`, which announces the events afterwards.
 *
 * One statement for any number of rows, the patterns matched in SQL: a webhook made a moment ago in
 * another process gets the next event, which a cache here could not promise.
 */
export async function insertEvents(sql: Sql, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await write(sql, INSERT_EVENTS({ input: events.map(toRow) }, {}));
}

/**
 * The same, and claims the deliveries of the webhooks that `reservation` names, unless their company is suspended. `written`
 * may be asked once the transaction is committed.
 */
export async function insertAndClaim(
  sql: Transaction,
  events: readonly NewEvent[],
  reservation: DeliveryReservation,
): Promise<{ written: () => Promise<WrittenDeliveries> }> {
  const { rows } = await sql.writeReturning<WrittenRow>(
    INSERT_AND_CLAIM({ input: events.map(toRow) }, reservation),
  );
  return { written: async () => toWritten(await rows()) };
}

interface ClaimedRow {
  id: number;
  webhook_id: number;
  event_id: string;
  version: string;
  type: string;
  instance_id: string | null;
  trace_id: string | null;
  body: string;
}

/** Without a body: nobody has claimed it. */
type WrittenRow = ClaimedRow | { webhook_id: number; company_id: number; body: null };

function toWritten(rows: readonly WrittenRow[]): WrittenDeliveries {
  const claimed: WrittenDeliveries['claimed'] = [];
  /** By webhook: its company. */
  const unclaimed = new Map<number, number>();
  for (const row of rows) {
    if (row.body === null) unclaimed.set(row.webhook_id, row.company_id);
    else
      claimed.push({
        id: row.id,
        webhookId: row.webhook_id,
        eventId: row.event_id,
        webhookVersion: row.version,
        type: row.type,
        instanceId: row.instance_id,
        traceId: row.trace_id,
        body: row.body,
      });
  }
  return {
    claimed,
    unclaimed: [...unclaimed].map(([webhookId, companyId]) => ({ webhookId, companyId })),
  };
}

function toRow(event: NewEvent) {
  return {
    event_id: event.eventId,
    company_id: event.companyId,
    instance_id: event.instanceId,
    type: event.type,
    patterns: patternsOf(event.type),
    data: event.data,
    trace_id: event.traceId,
    created_at: event.createdAt,
  };
}

/** Every pattern a webhook may hold that matches this type, as an array of PostgreSQL: all, itself, its family, its kind. */
function patternsOf(type: string): string {
  const dot = type.indexOf('.');
  return `{*,${type},${type.slice(0, dot)}.*,*.${type.slice(dot + 1)}}`;
}

const EVENTS = {
  event_id: 'uuid',
  company_id: 'integer',
  instance_id: 'uuid',
  type: 'text',
  patterns: 'text',
  data: 'jsonb',
  trace_id: 'uuid',
  created_at: 'timestamptz',
} as const;

// The value of `event_tx()` without the call, which costs as much as inserting an event.
const EVENT_TX = '(SELECT pg_current_xact_id()::text::bigint + tx_base FROM event_clock)';

const logSql = (input: string) => `
WITH input AS ${input}, logged AS (
  INSERT INTO events (tx, event_id, company_id, instance_id, type, data, trace_id, created_at, size_bytes)
  SELECT ${EVENT_TX}, event_id, company_id, instance_id, type, data, trace_id, created_at, octet_length(data::text) FROM input
)`;

const MATCHING_WEBHOOKS = `
JOIN webhooks ON webhooks.company_id = ANY (ARRAY[input.company_id])
  AND webhooks.enabled
  AND (webhooks.instance_id IS NULL OR webhooks.instance_id = input.instance_id)
  AND webhooks.patterns && input.patterns::text[]`;

const INSERT_EVENTS = statementOfRows({
  name: 'events-insert-fan-out',
  sets: { input: EVENTS },
  values: [],
  text: ({ input }) => `${logSql(input)}
INSERT INTO webhook_deliveries (company_id, webhook_id, event_id, event_created_at, next_attempt_at, created_at)
SELECT input.company_id, webhooks.id, input.event_id, input.created_at, input.created_at, input.created_at
FROM input${MATCHING_WEBHOOKS}`,
});

// The ids are drawn before the insert, in the order in which the rows are returned: what is claimed can then be returned
// with its body, without a join with what the insert returns, whose number of rows the planner cannot know.
const INSERT_AND_CLAIM = statementOfRows({
  name: 'events-insert-claim',
  sets: { input: EVENTS },
  values: ['webhookIds', 'leasedUntil', 'claimedBy'],
  text: ({ input, webhookIds, leasedUntil, claimedBy }) => `${logSql(input)}, matched AS MATERIALIZED (
  SELECT nextval('webhook_deliveries_id_seq') AS id, input.*, webhooks.id AS webhook_id, webhooks.xmin::text AS version,
         webhooks.id = ANY (${webhookIds}::int[]) AND companies.status = 'active' AS is_claimed
  FROM input${MATCHING_WEBHOOKS}
  JOIN companies ON companies.id = ANY (ARRAY[input.company_id])
), delivered AS (
  INSERT INTO webhook_deliveries (id, company_id, webhook_id, event_id, event_created_at, next_attempt_at, created_at,
                                  leased_until, claimed_by)
  OVERRIDING SYSTEM VALUE
  SELECT id, company_id, webhook_id, event_id, created_at, created_at, created_at,
         CASE WHEN is_claimed THEN ${leasedUntil}::timestamptz END, CASE WHEN is_claimed THEN ${claimedBy}::integer END
  FROM matched
)
SELECT id, webhook_id, company_id, event_id, version, type, instance_id, trace_id,
       CASE WHEN is_claimed THEN ${eventBodySql('matched')} END AS body
FROM matched`,
});
