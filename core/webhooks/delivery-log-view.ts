import type { DeliveryLog } from '@posthorn/contract/messaging/webhooks.ts';
import type { Principal } from '../access/principal.ts';
import { hiddenFrom } from '../events/event-filter.ts';
import { fitsSql } from '../platform/database/paging.ts';
import { addressFor, payloadBytesSql, payloadSql, responseFor } from './report-scope.ts';

/**
 * The delivery logs `l` of a FROM clause with the body as it was sent, made from the event again; empty once its 14 days are
 * over, and once the page has no room for it (LIM-10). `now` is a parameter of the statement, `columns` are further ones.
 * The parts of an attempt that are always shown are bounded one by one: the answer of an endpoint has 4 kB at most.
 */
export function logsSql(page: { from: string; columns?: string; order: string; now: string }): string {
  return `
SELECT s.*, CASE WHEN s.fits THEN coalesce(${payloadSql(page.now, 's')}, '') ELSE '' END AS payload
FROM (
  SELECT l.id, l.webhook_id, l.event_id, l.event_type, coalesce(l.status_code, 0) AS status_code, l.response,
    l.attempt, l.success, l.error_class, l.created_at, l.webhook_url, l.event_created_at${page.columns ?? ''},
    ${fitsSql(`coalesce(${payloadBytesSql(page.now, 'l')}, 0)`, `l.id ${page.order}`)} AS fits
  ${page.from}
) AS s
ORDER BY s.id ${page.order}`;
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
  event_created_at: Date;
  /** False: its page had no room for the payload. */
  fits: boolean;
}

/** One attempt as the API shows it to a caller (WHK-17, WHK-25). */
export function deliveryLogView(
  principal: Principal,
  { fits, event_created_at: _, ...row }: LogRow,
): DeliveryLog {
  return {
    ...row,
    ...(fits ? {} : { payload_omitted: true as const }),
    payload: hiddenFrom(principal).includes(row.event_type) ? '' : row.payload,
    response: responseFor(principal, row),
    webhook_url: addressFor(principal, row.webhook_url),
    created_at: row.created_at.toISOString(),
  };
}
