import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SendUnavailable } from '@posthorn/core/network/driver.ts';
import { listen } from '../support/listen.ts';
import { createTestClock } from '../support/test-clock.ts';
import { openInstance, pairInstance, type Sandbox, startSandbox, until } from './sandbox-harness.ts';

const OURS = '5511988880001';
const THEIRS = '5511977770001';

async function accountOf(sandbox: Sandbox) {
  const { accounts } = await sandbox.get('/sessions');
  return accounts.find((account: { phone: string }) => account.phone === OURS);
}

test('a second login kicks the first, which may not send any more', async (t) => {
  const sandbox = await startSandbox(t);
  const first = await pairInstance(t, sandbox, OURS);
  const second = await openInstance(t, sandbox.url, { credentials: first.identity!.credentials });
  await until(() => second.connected && first.ended.length > 0);
  assert.deepEqual(first.ended, ['replaced']);
  await assert.rejects(first.sendText(THEIRS, 'ghost'), SendUnavailable);
  await second.sendText(THEIRS, 'alive');
  await until(async () => (await accountOf(sandbox)).connected === 1);
  const account = await accountOf(sandbox);
  assert.equal(account.live, 1);
  assert.equal(account.max_live, 2);
  assert.equal(account.kicks, 1);
  assert.equal((await sandbox.get('/ledger')).total, 1);
});

test('logins one after the other never overlap', async (t) => {
  const sandbox = await startSandbox(t);
  const first = await pairInstance(t, sandbox, OURS);
  let { session } = first;
  for (let epoch = 2; epoch < 6; epoch++) {
    await session.close();
    const next = await openInstance(t, sandbox.url, { credentials: first.identity!.credentials, epoch });
    await until(() => next.connected);
    session = next.session;
  }
  const account = await accountOf(sandbox);
  assert.equal(account.max_live, 1);
  assert.equal(account.kicks, 0);
  assert.equal(account.logins, 5);
  assert.equal(account.epoch, 5);
});

test('a login with an epoch older than one seen before is refused and kicks nobody', async (t) => {
  const sandbox = await startSandbox(t);
  const owner = await pairInstance(t, sandbox, OURS, { epoch: 7 });
  const fenced = await openInstance(t, sandbox.url, { credentials: owner.identity!.credentials, epoch: 6 });
  await until(() => fenced.ended.length > 0);
  assert.deepEqual(fenced.ended, ['replaced']);
  assert.equal(fenced.connected, false);
  assert.deepEqual(owner.ended, []);
  await owner.sendText(THEIRS, 'still here');
  assert.equal((await accountOf(sandbox)).refused_stale_epoch, 1);
});

test('a login with the same epoch takes over from a connection that is half gone', async (t) => {
  const sandbox = await startSandbox(t);
  const first = await pairInstance(t, sandbox, OURS, { epoch: 3 });
  const second = await openInstance(t, sandbox.url, { credentials: first.identity!.credentials, epoch: 3 });
  await until(() => second.connected);
  await second.sendText(THEIRS, 'mine now');
});

test('when the network goes away the session ends once, and sends without an answer have an unknown outcome', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'silence' });
  const sending = assert.rejects(instance.sendText(THEIRS, 'unanswered'), SendUnavailable);
  await until(async () => (await sandbox.get('/ledger')).total === 1);
  await sandbox.close();
  await sending;
  await until(() => instance.ended.length > 0);
  assert.deepEqual(instance.ended, ['connection_lost']);
  await assert.rejects(instance.sendText(THEIRS, 'late'), SendUnavailable);
  await instance.session.close();
  await instance.session.close();
  assert.deepEqual(instance.ended, ['connection_lost']);
});

test('a network that cannot be reached is a lost connection', async (t) => {
  const instance = await openInstance(t, 'ws://127.0.0.1:1/ws');
  await until(() => instance.ended.length > 0);
  assert.deepEqual(instance.ended, ['connection_lost']);
  await assert.rejects(instance.session.requestPairingCode(OURS), SendUnavailable);
});

test('a send without an answer is unavailable after fifteen seconds', async (t) => {
  const sandbox = await startSandbox(t);
  const clock = createTestClock();
  const instance = await pairInstance(t, sandbox, OURS, { clock });
  await sandbox.post('/faults', { kind: 'silence', times: 1 });
  let failed = false;
  const sending = assert.rejects(instance.sendText(THEIRS, 'lost answer'), (error) => {
    failed = true;
    return error instanceof SendUnavailable;
  });
  await until(async () => (await sandbox.get('/ledger')).total === 1);
  clock.advance(14_900);
  await delay(700);
  assert.equal(failed, false);
  clock.advance(200);
  await sending;
  // The connection is intact, and the same id again is one message.
  await instance.sendText(THEIRS, 'next');
  assert.deepEqual(instance.ended, []);
});

test('a connection that falls silent is lost', async (t) => {
  const sandbox = await startSandbox(t);
  // A proxy that swallows everything once it is closed: no FIN, no RST, as with a pulled cable.
  let isOpen = true;
  const proxy = createServer((near) => {
    const far = connect(sandbox.port, '127.0.0.1');
    near
      .on('data', (data) => isOpen && far.write(data))
      .on('error', () => {})
      .on('close', () => far.destroy());
    far.on('data', (data) => isOpen && near.write(data)).on('error', () => {});
  });
  const port = await listen(proxy);
  t.after(() => proxy.close());
  const instance = await openInstance(t, `ws://127.0.0.1:${port}/ws`, { heartbeatMs: 4_000 });
  await until(() => instance.qrs.length > 0);
  await delay(9_000);
  assert.deepEqual(instance.ended, [], 'pings keep it alive');
  isOpen = false;
  await until(() => instance.ended.length > 0);
  assert.deepEqual(instance.ended, ['connection_lost']);
});

test('closing waits for messages that are being recorded, so that they do not come again', async (t) => {
  const sandbox = await startSandbox(t);
  const recording = Promise.withResolvers<void>();
  let handed = 0;
  const instance = await pairInstance(t, sandbox, OURS, {
    sink: {
      async inbound(messages) {
        handed += messages.length;
        await recording.promise;
      },
    },
  });
  await sandbox.post(`/phones/${THEIRS}/messages`, { to: OURS, text: 'hold on' });
  await until(() => handed === 1);
  const closing = instance.session.close();
  await delay(30);
  assert.deepEqual(instance.ended, []);
  recording.resolve();
  await closing;
  const again = await openInstance(t, sandbox.url, { credentials: instance.identity!.credentials });
  await until(() => again.connected);
  await delay(40);
  assert.deepEqual(again.inbound, []);
});
