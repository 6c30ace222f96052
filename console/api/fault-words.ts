import type { TFunction } from 'i18next';
import { fieldName, sentence } from './field-words.ts';

/**
 * The contract's words on a field: `contacts[2].vcard: expected string to have <=8192 characters`. The fields of a
 * scheduled send are in `body`.
 */
const FAULT = /^(?:body\.)?([A-Za-z_][\w.[\]]{0,200}): (.{1,500})$/;

/** The rules of the contract that forms can break, by their words; a number in them is `n`. */
const RULES: readonly (readonly [words: RegExp, rule: Rule])[] = [
  [/^is required$/, 'required'],
  [/^expected string to have >=(\d+) characters$/, 'minChars'],
  [/^expected string to have <=(\d+) characters$/, 'maxChars'],
  [/^must have at least (\d+) characters$/, 'minChars'],
  [/^(?:must have )?at most (\d+) characters$/, 'maxChars'],
  [/^expected array to have >=(\d+) items$/, 'minItems'],
  [/^expected array to have <=(\d+) items$/, 'maxItems'],
  [/^expected number to be >=(-?[\d.]+)$/, 'min'],
  [/^expected number to be <=(-?[\d.]+)$/, 'max'],
  [/^expected number to be >0$/, 'positive'],
  [/^expected int, received \w+$/, 'integer'],
  [/^expected number, received \w+$/, 'number'],
  [/^expected one of .+$/, 'oneOf'],
  [/^Invalid email address$/, 'email'],
  [/^Invalid URL$/, 'url'],
  [/^Invalid ISO datetime$/, 'time'],
  [/^must be in the future$/, 'future'],
  [/^at most (\d+) days ahead$/, 'daysAhead'],
  [/^Invalid UUID$/, 'id'],
  [/^must be a message UUID or a network id$/, 'id'],
  [/^must be an individual JID$/, 'person'],
  [/^must match pattern .+$|^Invalid string: must match pattern .+$/, 'pattern'],
];
type Rule = keyof typeof import('../i18n/en/common.ts').common.rules;

/** The service's message about what was typed, in the person's words as far as these are known. */
export function faultText(t: TFunction, message: string): string {
  const [, path, words] = FAULT.exec(message) ?? [];
  const rule = path && words && ruleText(t, words);
  return rule ? t('common.fault', { field: pathName(t, path), rule }) : sentence(t, message);
}

/** The service's words on one field, without its name; null if it says nothing of it. */
export function errorOfField(t: TFunction, error: unknown, name: string): string | null {
  const message = error instanceof Error ? error.message : '';
  if (!new RegExp(`^(body\\.)?${name}\\b[^:]*: `).test(message)) return null;
  const words = message.slice(message.indexOf(': ') + 2);
  return ruleText(t, words) ?? sentence(t, words);
}

function ruleText(t: TFunction, words: string): string | null {
  for (const [pattern, rule] of RULES) {
    const found = pattern.exec(words);
    if (found) return t(`common.rules.${rule}`, { n: found[1] });
  }
  return null;
}

/** `contacts[2].vcard` as "Contacts 3, vCard". */
function pathName(t: TFunction, path: string): string {
  return path
    .split('.')
    .map((part) => {
      const [name = '', at] = part.split(/[[\]]/);
      return at === undefined ? fieldName(t, name) : `${fieldName(t, name)} ${Number(at) + 1}`;
    })
    .join(', ');
}
