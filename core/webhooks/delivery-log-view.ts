import type { DeliveryLog } from '@posthorn/contract/messaging/webhooks.ts';
import { payloadSql } from './report-scope.ts';

/**
 * The columns of a delivery log `l` with the body as it was sent, made from the event again; empty once its
 * 14 days are over. `now` is a parameter of the statement.
 */
export function logColumns(now: string): string {
  return `
  l.id, l.webhook_id, l.event_id, l.event_type, coalesce(l.status_code, 0) AS status_code, l.response,
  l.attempt, l.success, l.error_class, l.created_at, l.webhook_url, coalesce(${payloadSql(now)}, '') AS payload`;
}

export interface LogRow {
  id: number;
  webhook_id: number;
  event_id: string;
  event_type: string;
  status_code: number;
  response: string;
  attempt: number;
  success: boolean;
  error_class: string;
  created_at: Date;
  webhook_url: string;
  payload: string;
}

/** One attempt as the API shows it (WHK-17). */
export function deliveryLogView(row: LogRow): DeliveryLog {
  return { ...row, created_at: row.created_at.toISOString() };
}
