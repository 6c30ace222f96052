import type { DeliveryLog } from '@posthorn/contract/messaging/webhooks.ts';
import { eventBodySql } from '../events/event-body.ts';

/**
 * The columns of a delivery log `l` with the body as it was sent, which is made from the event again; the
 * event is looked up by its day and id, so that one partition is read.
 */
export const LOG_COLUMNS = `
  l.id, l.webhook_id, l.event_id, l.event_type, coalesce(l.status_code, 0) AS status_code, l.response,
  l.attempt, l.success, l.error_class, l.created_at, l.webhook_url,
  coalesce((SELECT ${eventBodySql('e')} FROM events e
            WHERE e.event_id = l.event_id AND e.created_at = l.event_created_at LIMIT 1), '') AS payload`;

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

/** One attempt as the API shows it (spec 2.13). */
export function deliveryLogView(row: LogRow): DeliveryLog {
  return { ...row, created_at: row.created_at.toISOString() };
}
