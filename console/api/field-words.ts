import type { TFunction } from 'i18next';

/** In place of the library's own separators, which stand in the words of the contract. */
const SEPARATOR = '|';
const ARTICLE = /^(the|an?|os?|as?|uma?) /i;

/** The name of a field of a send in the person's own words, else as the contract spells it: `quoted_id` as "Quoted id". */
export function fieldName(t: TFunction, name: string): string {
  const words = name.replaceAll('_', ' ');
  return wordsOf(t, 'fieldNames', name, words[0]?.toUpperCase() + words.slice(1));
}

/**
 * The contract's description of a field, in the person's language where the console has it; none if it only repeats
 * the label: "The text".
 */
export function fieldHint(
  t: TFunction,
  { description }: { description?: string },
  label = '',
): string | undefined {
  const hint = description && wordsOf(t, 'fieldHints', description, description);
  return hint?.replace(ARTICLE, '').toLowerCase() === label.toLowerCase() ? undefined : hint;
}

/** A sentence of the service, in the person's language where the console has it. */
export function sentence(t: TFunction, words: string): string {
  return wordsOf(t, 'sentences', words, words);
}

function wordsOf(
  t: TFunction,
  table: 'fieldNames' | 'fieldHints' | 'sentences',
  name: string,
  defaultValue: string,
): string {
  const key = `${table}${SEPARATOR}${name}` as 'fieldNames';
  return t(key, { keySeparator: SEPARATOR, nsSeparator: false, defaultValue }) as unknown as string;
}
