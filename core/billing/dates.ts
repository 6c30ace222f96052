import type { BillingCycle } from '@posthorn/contract/billing/catalog.ts';
import { HOUR_MS } from '../platform/durations.ts';

/**
 * Due dates are days of São Paulo, where the provider is. Its offset is fixed: Brazil has had no daylight
 * saving time since 2019.
 */
const LOCAL_OFFSET_MS = 3 * HOUR_MS;

/** The local day of a moment: `2026-01-31`. */
export function localDate(moment: Date): string {
  return new Date(moment.getTime() - LOCAL_OFFSET_MS).toISOString().slice(0, 10);
}

/** The moment at which a local day begins. */
export function startOfLocalDay(date: string): Date {
  return new Date(Date.parse(`${date}T00:00:00Z`) + LOCAL_OFFSET_MS);
}

/** The same day one cycle later; the last day of the month when that month is shorter. */
export function addCycle(date: string, cycle: BillingCycle): string {
  const [year, month, day] = date.split('-').map(Number) as [number, number, number];
  const months = cycle === 'monthly' ? 1 : 12;
  const lastDay = new Date(Date.UTC(year, month - 1 + months + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 + months, Math.min(day, lastDay))).toISOString().slice(0, 10);
}

/** `2026-01-31 14:05:09`, as the provider writes times. */
export function formatProviderTime(moment: Date): string {
  return new Date(moment.getTime() - LOCAL_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

const TIME_MAX_CHARS = 40;

/** A time as the provider writes it, or ISO 8601 with an offset; null for anything else. */
export function parseProviderTime(text: unknown): Date | null {
  if (typeof text !== 'string' || text.length > TIME_MAX_CHARS) return null;
  const local = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d+)?)$/.exec(text);
  const moment = local
    ? new Date(Date.parse(`${local[1]}T${local[2]}Z`) + LOCAL_OFFSET_MS)
    : text.includes('T') && /(Z|[+-]\d{2}:\d{2})$/.test(text)
      ? new Date(text)
      : null;
  return moment && !Number.isNaN(moment.getTime()) ? moment : null;
}

/** `2026-01-31`, a day that exists; null for anything else. */
export function parseProviderDate(text: unknown): string | null {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const moment = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(moment.getTime()) || moment.toISOString().slice(0, 10) !== text ? null : text;
}
