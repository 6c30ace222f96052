import type { TFunction } from 'i18next';
import type { SendKind } from './use-send-kinds.ts';

/** A way to send in the person's own words, else in those of the contract. */
export function sendName(t: TFunction, { path, summary }: Pick<SendKind, 'path' | 'summary'>): string {
  return t(`sends.${path}`, { defaultValue: summary });
}
