import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkReceipt } from '@posthorn/core/network/driver.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { type Arrivals, createArrivals } from '@posthorn/worker/sessions/arrivals.ts';
import { createEarlyReceipts } from '@posthorn/worker/sessions/early-receipts.ts';

function receipt(networkId: string, kind: NetworkReceipt['kind'] = 'delivered', by = 'a@s.whatsapp.net') {
  return { networkId, kind, by, chat: by, at: new Date(0) } satisfies NetworkReceipt;
}

test('receipts wait for their message, in order and each once', () => {
  const early = createEarlyReceipts();
  for (const kind of ['delivered', 'read', 'read'] as const)
    assert.equal(early.hold(receipt('A', kind)), false);
  assert.equal(early.hold(receipt('B')), false);
  assert.deepEqual(
    early.of('A').map(({ kind }) => kind),
    ['delivered', 'read'],
  );
  early.forget('A');
  assert.deepEqual(early.of('A'), []);
  assert.equal(early.of('B').length, 1);
});

test('one that comes as its message is recorded is tried again instead of held', () => {
  const early = createEarlyReceipts();
  early.of('A');
  assert.equal(early.hold(receipt('A')), true);
});

test('receipts of messages that never come push out the oldest', () => {
  const early = createEarlyReceipts();
  for (let nth = 0; nth <= 10_000; nth += 1) early.hold(receipt(`M${nth}`));
  assert.deepEqual(early.of('M0'), []);
  assert.equal(early.of('M10000').length, 1);
});

/**
 * Somebody else's message has its id, or it was deleted meanwhile: the record finds no such message, however often it
 * looks.
 */
test('one of a message that was recorded and is not there is looked for twice, and no more', async () => {
  let looks = 0;
  const deps = {
    clock: { now: () => new Date() },
    log: createLog({ level: 'silent', role: 'test' }),
    tries: {},
    inbound: { push: async () => 'recorded' },
    recorder: {
      async push({ named }: { named: { onUnknown(): void } }) {
        looks += 1;
        assert.ok(looks <= 10, 'it is looked for again and again');
        named.onUnknown();
      },
    },
  } as unknown as Parameters<typeof createArrivals>[0];
  const scope = {
    companyId: 1,
    instanceId: 'instance',
    lease: {},
    settings: () => ({}),
    loadSettings: async () => ({}),
    session: () => null,
  } as unknown as Parameters<typeof createArrivals>[1];
  const arrivals: Arrivals = createArrivals(deps, scope);
  const message = { networkId: 'A', chat: '5511@s.whatsapp.net', from: '5512@s.whatsapp.net', fromMe: true };
  await arrivals.inbound([
    { ...message, pushName: '', type: 'text', content: { text: 'x' }, at: new Date() },
  ]);
  await arrivals.receipts([receipt('A')]);
  assert.equal(looks, 2);
});
