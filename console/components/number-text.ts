import { byLanguage } from './by-language.ts';

const format = byLanguage((language) => new Intl.NumberFormat(language));

/** A number with the separators of the language: "12,345" or "12.345". */
export function numberText(number: number, language: string): string {
  return format(language).format(number);
}
