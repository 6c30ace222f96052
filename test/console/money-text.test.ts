import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moneyText } from '../../console/components/money-text.ts';

test('an amount has as many digits behind the point as its currency', () => {
  assert.equal(moneyText(123_456, 'BRL', 'en-US'), 'R$1,234.56');
  assert.equal(moneyText(1_234, 'JPY', 'en-US'), '¥1,234');
  assert.equal(moneyText(1_234, 'BHD', 'en-US'), 'BHD\u00a01.234');
});
