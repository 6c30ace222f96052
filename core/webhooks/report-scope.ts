import type { Principal } from '../access/principal.ts';
import { eventBodySql } from '../events/event-body.ts';
import { hiddenFrom } from '../events/event-filter.ts';
import { HOUR_MS } from '../platform/durations.ts';
import { isUuid } from '../platform/ids.ts';

/** Totals of logs are counted up to this; above it the answer says so. */
const TOTAL_MAX = 10_000;

/** Rows that a count reads: one more than is reported, to know that there are more. */
export const COUNTED_MAX = TOTAL_MAX + 1;

/** The total of a count over {@link COUNTED_MAX} rows at most. */
export function boundedTotal(counted: number): { total: number; total_capped?: true } {
  return counted > TOTAL_MAX ? { total: TOTAL_MAX, total_capped: true } : { total: counted };
}

/** The company whose deliveries a caller sees; null for a superadmin, who sees every company's (WHK-25). */
export function reportCompany(principal: Principal): number | null {
  return principal.isSuperadmin ? null : principal.companyId;
}

/**
 * SQL for the company whose logs a statement over `companies c` reads: `$1`, or each of them for null. PostgreSQL knows how many
 * logs the company has only where it is a parameter; then it reads the newest by the index and does not sort all of them.
 */
export function companyOfLogs(companyId: number | null): string {
  return companyId === null ? 'c.id' : '$1::int';
}

/**
 * The address of a webhook as a caller may see it: agents get the origin alone, since path and query often carry a
 * token (WHK-25).
 */
export function addressFor({ role, isSuperadmin }: Principal, url: string): string {
  return role === 'agent' && !isSuperadmin ? new URL(url).origin : url;
}

/** Shorter parts of an address stand in many answers, and keep no secret. */
const SECRET_MIN_CHARS = 5;

/**
 * The answer of a receiver as a caller may see it. It may repeat what it was sent, and where: agents get none of an event
 * whose body they may not see (EVT-19), and none with a part of the address that they may not see (WHK-25).
 */
export function responseFor(
  principal: Principal,
  log: { event_type: string; webhook_url: string; response: string },
): string {
  if (principal.role !== 'agent' || principal.isSuperadmin) return log.response;
  if (hiddenFrom(principal).includes(log.event_type)) return '';
  const { pathname, searchParams } = new URL(log.webhook_url);
  const parts = [...pathname.split('/'), ...searchParams.values()].flatMap((part) => [
    part,
    encodeURIComponent(part),
    decoded(part),
  ]);
  const isRepeated = parts.some((part) => part.length >= SECRET_MIN_CHARS && log.response.includes(part));
  return isRepeated ? '' : log.response;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** When a period begins: `since`, or that many hours ago; without either it has no beginning. */
export function periodStart(
  period: { hours?: number | undefined; since?: string | undefined },
  now: Date,
): Date {
  if (period.since !== undefined) return new Date(period.since);
  return new Date(period.hours === undefined ? 0 : now.getTime() - period.hours * HOUR_MS);
}

/** An id that no instance can have matches nothing: null. */
export function instanceParam(instanceId: string): string | null {
  return isUuid(instanceId) ? instanceId : null;
}

/**
 * The condition that a log `l` belongs to the view of an instance (parameter `param`): its event is the instance's,
 * through whatever webhook; or its event belongs to no instance (a test) and went to a global webhook, which counts
 * for every instance (WHK-21).
 */
export function instanceCondition(param: string): string {
  return `(l.instance_id = ${param} OR (l.instance_id IS NULL AND EXISTS (
    SELECT 1 FROM webhooks g JOIN instances i ON i.company_id = g.company_id AND i.id = ${param}
    WHERE g.id = l.webhook_id AND g.instance_id IS NULL)))`;
}

/**
 * The body of the event of a log, as it was sent; null once its 14 days are over. `now` is a parameter.
 */
export function payloadSql(now: string, log = 'l'): string {
  return fromEvent(eventBodySql('e'), now, log);
}

/** How long that body is, about, without making it where the event says so. */
export function payloadBytesSql(now: string, log: string): string {
  return fromEvent('coalesce(e.size_bytes, octet_length(e.data::text))', now, log);
}

/** The event is looked up by its day and id, so that one partition is read. */
function fromEvent(expression: string, now: string, log: string): string {
  return `(SELECT ${expression} FROM events e
    WHERE e.event_id = ${log}.event_id AND e.created_at = ${log}.event_created_at
      AND e.created_at > ${now}::timestamptz - interval '14 days' LIMIT 1)`;
}

/** Successes of all attempts in percent, to two digits; 100 without attempts (WHK-22). */
export function successRate(total: number, successes: number): number {
  return total === 0 ? 100 : Math.round((successes / total) * 10_000) / 100;
}
