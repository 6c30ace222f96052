import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { strokesOf } from '@posthorn/cli/views/strokes.ts';

const PLAIN: Parameters<typeof strokesOf>[1] = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
  super: false,
  hyper: false,
  capsLock: false,
  numLock: false,
};

describe('the strokes of an input', () => {
  test('keep their order when several come at once', () => {
    assert.deepEqual(strokesOf('webhook.test\r', PLAIN), [
      { kind: 'text', text: 'webhook.test' },
      { kind: 'enter' },
    ]);
    assert.deepEqual(strokesOf('São\x12\n ok', PLAIN), [
      { kind: 'text', text: 'São' },
      { kind: 'ctrl', letter: 'r' },
      { kind: 'enter' },
      { kind: 'text', text: ' ok' },
    ]);
  });

  test('name each special key', () => {
    assert.deepEqual(strokesOf('', { ...PLAIN, upArrow: true }), [{ kind: 'up' }]);
    assert.deepEqual(strokesOf('', { ...PLAIN, delete: true }), [{ kind: 'backspace' }]);
    assert.deepEqual(strokesOf('r', { ...PLAIN, ctrl: true }), [{ kind: 'ctrl', letter: 'r' }]);
  });

  test('keys that mean nothing to a table are dropped', () => {
    assert.deepEqual(strokesOf('x', { ...PLAIN, meta: true }), []);
    assert.deepEqual(strokesOf('', { ...PLAIN, tab: true }), []);
    assert.deepEqual(strokesOf('\x00\x1f\x7f', PLAIN), []);
  });
});
