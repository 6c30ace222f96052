import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pack } from '@posthorn/network/whatsapp/keys.ts';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';
import { newKept, newNumber, openPaired, sendText } from '../support/whatsapp/driver-harness.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

type Queue = (address: string, job: () => Promise<unknown>) => Promise<unknown>;

it('work on the session with a contact runs in its own context, and waits for that of no other session', async () => {
  await loadLibrary();
  const fromLibrary = createRequire(new URL('../../network/whatsapp/library/package.json', import.meta.url));
  const queue = fromLibrary('libsignal/src/queue_job') as Queue;
  const context = new AsyncLocalStorage<string>();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const slow = context.run('one session', () => queue('contact.0', () => held));
  const quick = context.run('another', () =>
    queue('contact.0', async () => {
      await delay(1);
      return context.getStore();
    }),
  );
  assert.equal(await quick, 'another');
  release();
  await slow;
});

it('a record of a session is JSON that the library does not change: our copies in memory are its own', async () => {
  const { network, driver } = await startNetworkAndDriver();
  const [own, friend] = [network.phone(newNumber()), network.phone(newNumber())];
  const kept = newKept();
  let records = 0;
  kept.keys.beforeWrite = (changes) => {
    for (const { kind, value } of changes) {
      if (kind !== 'session' || value === null) continue;
      assert.deepEqual(pack(value), JSON.parse(JSON.stringify(value)));
      freeze(value);
      records += 1;
    }
  };
  const recorded = await openPaired(driver, own, kept);
  try {
    for (let turn = 0; turn < 3; turn += 1) {
      await friend.message(await sendText(recorded, friend.jid, `Text ${turn}`));
      const answer = friend.text(own, `Answer ${turn}`);
      await until(() => recorded.inbound.some(({ networkId }) => networkId === answer), 'the answer');
    }
    // A session that the contact has lost is replaced by another one.
    friend.phone.restart(`${own.number}.${own.device.id}`);
    await friend.message(await sendText(recorded, friend.jid, 'Lost and asked for again'));
    assert.ok(records > 6);
  } finally {
    await recorded.session.close();
    await network.close();
  }
  assert.deepEqual(network.problems, []);
});

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  for (const each of Object.values(value)) freeze(each);
}
