import type { TFunction } from 'i18next';
import type { SendKind } from './use-send-kinds.ts';

/** The name of a send in the user's language, else as the contract names it. */
export function sendName(t: TFunction, { path, summary }: Pick<SendKind, 'path' | 'summary'>): string {
  return t(`sends.${path}`, { defaultValue: summary });
}
