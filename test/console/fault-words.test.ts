import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOfIssues } from '@posthorn/contract/validation-error.ts';
import { z } from 'zod/v4';
import { errorOfField, faultText } from '../../console/api/fault-words.ts';
import * as en from '../../console/i18n/en/index.ts';
import { sentences } from '../../console/i18n/pt/fields.ts';
import { translations as pt } from '../../console/i18n/pt/whole.ts';
import { readSources } from '../structure/sources.ts';

/** Looks words up and fills them in, as the console's library does with these tables. */
function wordsIn(tables: object): Parameters<typeof faultText>[0] {
  const t = (key: string, values: Record<string, string | undefined>): string => {
    const path = key.includes('|')
      ? [key.slice(0, key.indexOf('|')), key.slice(key.indexOf('|') + 1)]
      : key.split('.');
    let found: unknown = tables;
    for (const name of path) found = (found as Record<string, unknown> | undefined)?.[name];
    return String(found ?? values.defaultValue).replace(/\{\{(\w+)\}\}/g, (_, name) => values[name] ?? '');
  };
  return t as never;
}

/** The service's words on a body whose field `name` does not fit. */
function saidOf(schema: z.ZodType, name: unknown): string {
  const { error } = z.object({ name: schema }).safeParse({ name });
  return codeOfIssues(error?.issues ?? [], 'body', { name }).message;
}

/** A rule of the contract in the words of Zod, and how the console says it. */
const RULES: readonly (readonly [schema: z.ZodType, value: unknown, portuguese: string])[] = [
  [z.string(), undefined, 'Nome: é obrigatório'],
  [z.string().min(3), 'a', 'Nome: no mínimo 3 caracteres'],
  [z.string().max(255), 'a'.repeat(256), 'Nome: no máximo 255 caracteres'],
  [z.array(z.string()).min(2), ['a'], 'Nome: no mínimo 2'],
  [z.array(z.string()).max(1), ['a', 'b'], 'Nome: no máximo 1'],
  [z.int().min(1), 0, 'Nome: 1 ou mais'],
  [z.int().max(12), 13, 'Nome: 12 ou menos'],
  [z.int().positive(), 0, 'Nome: mais que 0'],
  [z.int(), 1.5, 'Nome: precisa ser um número inteiro'],
  [z.number(), 'a', 'Nome: precisa ser um número'],
  [z.enum(['a', 'b']), 'c', 'Nome: não é nenhum dos valores possíveis'],
  [z.email(), 'a', 'Nome: não é um endereço de e-mail'],
  [z.url(), 'a', 'Nome: não é um endereço que começa com https:// ou http://'],
  [z.iso.datetime(), 'a', 'Nome: não é uma data com hora'],
  [z.uuid(), 'a', 'Nome: não é um id'],
  [z.string().regex(/^a$/), 'b', 'Nome: tem caracteres ou uma forma que não são permitidos'],
];

test('a Portuguese console says each rule of the contract that a form can break in Portuguese', () => {
  const t = wordsIn(pt);
  for (const [schema, value, words] of RULES) assert.equal(faultText(t, saidOf(schema, value)), words);
});

test('an English console says them without the words of a program', () => {
  const t = wordsIn(en);
  for (const [schema, value] of RULES)
    assert.doesNotMatch(faultText(t, saidOf(schema, value)), /expected|received|>=|<=|Invalid/);
});

test('a field in a list is named by its place', () => {
  const t = wordsIn(pt);
  assert.equal(faultText(t, 'contacts[2].vcard: is required'), 'Contatos 3, vCard: é obrigatório');
});

test('a field of a scheduled send is named like that of any other', () => {
  const t = wordsIn(pt);
  assert.equal(faultText(t, 'body.text: is required'), 'Texto: é obrigatório');
  assert.equal(
    errorOfField(t, new Error('body.text: at most 5 characters'), 'text'),
    'no máximo 5 caracteres',
  );
  assert.equal(errorOfField(t, new Error('body.text: at most 5 characters'), 'to'), null);
});

test('what the console does not know stays in the words of the service', () => {
  const t = wordsIn(pt);
  const said = 'headers.host: is a header that the service sets itself';
  assert.equal(faultText(t, said), said);
  assert.equal(errorOfField(t, new Error('to: at most 5 characters'), 'text'), null);
  assert.equal(errorOfField(t, new Error('text: at most 5 characters'), 'text'), 'no máximo 5 caracteres');
});

test('each sentence with a translation is one that the service says', () => {
  const texts = readSources()
    .filter(({ file }) => /^(core|contract)\//.test(file))
    .map(({ text }) => text);
  const unsaid = Object.keys(sentences).filter((words) => !texts.some((text) => text.includes(words)));
  assert.deepEqual(unsaid, []);
});
