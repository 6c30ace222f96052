/**
 * The JSON of an event as every consumer gets it: webhook body, SSE data, WebSocket frame, list item
 * (`{event_id, type, created_at, company_id, instance_id, data}`, EVT-1). Made by the database from
 * the stored row, for two reasons: the same bytes come out at each attempt and on each way out, and the
 * hot paths pass them on without parsing (JSON.parse + stringify of 1 KB cost more than the signature).
 *
 * `alias` is the alias of an `events` row in the statement.
 */
export function eventBodySql(alias: string): string {
  const e = alias;
  return `('{"event_id":"' || ${e}.event_id || '","type":"' || ${e}.type || '","created_at":"'
    || to_char(${e}.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","company_id":' || ${e}.company_id || ',"instance_id":'
    || coalesce('"' || ${e}.instance_id || '"', 'null') || ',"data":' || ${e}.data || '}')`;
}
