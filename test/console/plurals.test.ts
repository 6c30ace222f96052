import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translations } from '../../console/i18n/pt/whole.ts';

/** The texts of a table by their whole keys. */
function textsOf(table: object, path = ''): [key: string, text: string][] {
  return Object.entries(table).flatMap(([name, value]) =>
    typeof value === 'string' ? [[`${path}${name}`, value]] : textsOf(value, `${path}${name}.`),
  );
}

test('a Portuguese text for one names the number, since the language counts 0 as one', () => {
  assert.equal(new Intl.PluralRules('pt').select(0), 'one');
  const ofOne = textsOf(translations).filter(([key]) => key.endsWith('_one'));
  assert.ok(ofOne.length > 0);
  assert.deepEqual(
    ofOne.filter(([, text]) => !text.includes('{{count')),
    [],
  );
});
