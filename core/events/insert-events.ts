import { type Sql, write } from '../platform/db.ts';

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
  await write(sql, {
    name: 'events-insert-fan-out',
    text: INSERT_EVENTS,
    values: [JSON.stringify(events.map(toRow))],
  });
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

/** Every pattern a webhook may hold that matches this type: all, itself, its family, its kind. */
function patternsOf(type: string): string[] {
  const dot = type.indexOf('.');
  return ['*', type, `${type.slice(0, dot)}.*`, `*.${type.slice(dot + 1)}`];
}

const INSERT_EVENTS = `
WITH input AS MATERIALIZED (
  SELECT * FROM json_to_recordset($1) AS r (
    event_id uuid, company_id integer, instance_id uuid, type text, patterns text[],
    data jsonb, trace_id uuid, created_at timestamptz)
), logged AS (
  INSERT INTO events (tx, event_id, company_id, instance_id, type, data, trace_id, created_at)
  SELECT (SELECT event_tx()), event_id, company_id, instance_id, type, data, trace_id, created_at FROM input
)
INSERT INTO webhook_deliveries (company_id, webhook_id, event_id, event_created_at, next_attempt_at, created_at)
SELECT input.company_id, webhooks.id, input.event_id, input.created_at, input.created_at, input.created_at
FROM input
JOIN webhooks ON webhooks.company_id = ANY (ARRAY[input.company_id])
  AND webhooks.enabled
  AND (webhooks.instance_id IS NULL OR webhooks.instance_id = input.instance_id)
  AND webhooks.patterns && input.patterns`;
