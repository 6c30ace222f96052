import assert from 'node:assert/strict';
import { test } from 'node:test';
import { laidOut } from '../../console/components/laid-out.ts';

test('a body is shown with indents, and each number as it was written', () => {
  const numbers = ['12345678901234567890', '-9007199254740993', '1.10', '1e400', '0'];
  assert.equal(
    laidOut(`{"ids":[${numbers}],"a":"\\u00e9 1"}`),
    `{
  "ids": [
    ${numbers.join(',\n    ')}
  ],
  "a": "é 1"
}`,
  );
});

test('a body that is not JSON is shown as it came', () => {
  assert.equal(laidOut('<p>502 Bad  Gateway'), '<p>502 Bad  Gateway');
});
