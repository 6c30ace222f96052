import { useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { byLanguage } from './by-language.ts';
import { relativeTime } from './relative-time.ts';
import { onTick } from './tick.ts';

const exactFormat = byLanguage(
  (language) => new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium' }),
);

/**
 * "3 min ago", for as long as it is looked at, with the exact time in the person's zone on hover. For what has an hour of
 * its own, `exact` shows that, and the other on hover. Details show `both`: not everybody can hover.
 */
export function TimeText({ at, shows = 'relative' }: { at: string; shows?: 'relative' | 'exact' | 'both' }) {
  const { i18n } = useTranslation();
  const relative = useSyncExternalStore(onTick, () => relativeTime(new Date(at), new Date(), i18n.language));
  const exact = exactTime(at, i18n.language);
  if (shows === 'both')
    return (
      <time dateTime={at}>
        {relative}, <span className="whole">{exact}</span>
      </time>
    );
  const isExact = shows === 'exact';
  return (
    <time dateTime={at} title={isExact ? relative : exact}>
      {isExact ? exact : relative}
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
