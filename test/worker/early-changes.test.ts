import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkChange } from '@posthorn/core/network/driver.ts';
import { createEarlyChanges } from '@posthorn/worker/sessions/early-changes.ts';

const edited = (networkId: string, text: string): NetworkChange => ({
  ...{ networkId, chat: '5511@s.whatsapp.net', from: '5511@s.whatsapp.net', at: new Date(0) },
  ...{ kind: 'edited', content: { text } },
});

test('changes wait for their message, in order, and are given once', () => {
  const early = createEarlyChanges();
  const changes = [edited('A', 'one'), edited('B', 'other'), edited('A', 'two')];
  changes.forEach(early.hold);
  assert.deepEqual(early.take(['A', 'C']), [changes[0], changes[2]]);
  assert.deepEqual(early.take(['A']), []);
  assert.deepEqual(early.take(['B']), [changes[1]]);
});

test('changes of messages that never come push out the oldest, by number and by size', () => {
  const early = createEarlyChanges();
  for (let nth = 0; nth <= 1_000; nth += 1) early.hold(edited(`M${nth}`, ''));
  assert.deepEqual([early.take(['M0']).length, early.take(['M1']).length], [0, 1]);
  for (let nth = 0; nth <= 4; nth += 1) early.hold(edited(`L${nth}`, 'x'.repeat(250 * 1024)));
  assert.deepEqual([early.take(['L0']).length, early.take(['L4']).length], [0, 1]);
});
