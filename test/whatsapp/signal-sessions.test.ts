import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';

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
