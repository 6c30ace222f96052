import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faultsOf, patternsOfContracts, patternsOfSources } from './product-patterns.ts';

/** `patterns.test.ts` tests shorter texts. */
const CHARS = 100_000;

describe('every regular expression withstands attacks of 100 kB', () => {
  test('in the sources', async () => {
    assert.deepEqual(await faultsOf(patternsOfSources(), CHARS), []);
  });

  test('in the schemas of both contracts', async () => {
    assert.deepEqual(await faultsOf(patternsOfContracts(), CHARS), []);
  });
});
