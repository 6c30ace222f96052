import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCipher } from '@posthorn/core/platform/encryption.ts';

const KEY = 'ab'.repeat(32);

describe('data that is sealed at rest', () => {
  test('opens again with the same key, for any JSON', () => {
    const cipher = createCipher(KEY);
    for (const value of [{ secret: 'whsec_ä' }, 'text', 0, null, [], { deep: { list: [1, 2] } }])
      assert.deepEqual(createCipher(KEY).open(cipher.seal(value)), value);
  });

  test('shows nothing of its text, and has different bytes each time', () => {
    const cipher = createCipher(KEY);
    const sealed = cipher.seal('a well-known secret');
    assert.equal(sealed.includes('secret'), false);
    assert.notDeepEqual(sealed, cipher.seal('a well-known secret'));
  });

  test('has another nonce each time, and opens after many others were sealed', () => {
    const cipher = createCipher(KEY);
    const sealed = Array.from({ length: 5_000 }, (_, nth) => cipher.seal(nth));
    const nonces = new Set(sealed.map((bytes) => bytes.subarray(1, 13).toString('hex')));
    assert.equal(nonces.size, sealed.length);
    assert.deepEqual(
      sealed.map((bytes) => cipher.open(bytes)),
      sealed.map((_, nth) => nth),
    );
  });

  test('does not open with another key', () => {
    const sealed = createCipher(KEY).seal('x');
    assert.throws(() => createCipher('cd'.repeat(32)).open(sealed), /another ENCRYPTION_KEY/);
  });

  test('opens with any accepted key, and is sealed by the first one alone', () => {
    const other = 'cd'.repeat(32);
    const cipher = createCipher(other, [KEY]);
    const sealed = createCipher(KEY).seal({ a: 1 });
    assert.deepEqual(cipher.open(sealed), { a: 1 });
    const anew = cipher.reseal(sealed)!;
    assert.deepEqual(createCipher(other).open(anew), { a: 1 });
    assert.equal(cipher.reseal(anew), null);
    assert.throws(() => cipher.reseal(createCipher('ef'.repeat(32)).seal(1)), /another ENCRYPTION_KEY/);
    assert.deepEqual(cipher.digests('trial', 'x'), [
      cipher.digest('trial', 'x'),
      createCipher(KEY).digest('trial', 'x'),
    ]);
  });

  test('does not open when any byte was changed or cut off', () => {
    const cipher = createCipher(KEY);
    const sealed = cipher.seal({ a: 1 });
    for (let i = 0; i < sealed.length; i += 1) {
      const altered = Buffer.from(sealed);
      altered[i]! ^= 1;
      assert.throws(() => cipher.open(altered), `byte ${i}`);
      assert.throws(() => cipher.open(sealed.subarray(0, i)), `length ${i}`);
    }
  });

  test('takes only a key of 32 bytes in hex', () => {
    assert.throws(() => createCipher('ab'), /64 hex digits/);
    assert.throws(() => createCipher('zz'.repeat(32)), /64 hex digits/);
  });
});
