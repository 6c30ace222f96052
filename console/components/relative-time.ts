import { byLanguage } from './by-language.ts';

const STEPS: readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 365 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** Never "yesterday" or "last year", which depend on the calendar: 30 hours ago may be the day before yesterday. */
const relativeFormat = byLanguage(
  (language) => new Intl.RelativeTimeFormat(language, { numeric: 'always', style: 'short' }),
);
const nowFormat = byLanguage(
  (language) => new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' }),
);

/** The time between two moments in the largest unit that it fills: "3 min. ago". */
export function relativeTime(at: Date, now: Date, language: string): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000);
  const [unit, size] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1];
  const format = seconds === 0 ? nowFormat : relativeFormat;
  return format(language).format(Math.trunc(seconds / size), unit);
}
