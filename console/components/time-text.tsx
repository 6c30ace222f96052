import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { byLanguage } from './by-language.ts';
import { relativeTime } from './relative-time.ts';
import { onTick } from './tick.ts';

const exactFormat = byLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' }),
);

/** A time such as "3 min ago", kept up to date, with the exact time in the user's zone on hover. */
export function TimeText({ at }: { at: string }) {
  const { i18n } = useTranslation();
  const text = useSyncExternalStore(onTick, () => relativeTime(new Date(at), new Date(), i18n.language));
  return (
    <time dateTime={at} title={exactTime(at, i18n.language)}>
      {text}
    </time>
  );
}

const dateFormat = byLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' }),
);

const dayFormat = byLanguage((language) => new Intl.DateTimeFormat(language, { dateStyle: 'medium' }));

/** The day of a moment, in the user's time zone. */
export function dayText(at: string, language: string): string {
  return dayFormat(language).format(new Date(at));
}

/** A day of the calendar, the same in every zone: `2026-11-25`. */
export function dateText(day: string, language: string): string {
  return dateFormat(language).format(new Date(day));
}

export function exactTime(at: string, language: string): string {
  return exactFormat(language).format(new Date(at));
}
