import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SendRefused, SendUnavailable } from '@posthorn/core/network/driver.ts';
import { type Instance, openInstance, pairInstance, startSandbox, until } from './sandbox-harness.ts';

const OURS = '5511988880001';
const THEIRS = '5511977770001';
const ID = 'A'.repeat(32);

function refusedWith(reason: string) {
  return (error: unknown) => error instanceof SendRefused && error.reason === reason;
}

async function logIn(
  t: Parameters<typeof openInstance>[0],
  url: string,
  former: Instance,
): Promise<Instance> {
  const instance = await openInstance(t, url, { credentials: former.identity!.credentials });
  await until(() => instance.connected || instance.ended.length > 0);
  return instance;
}

test('drop now cuts the connections it is aimed at, and only those', async (t) => {
  const sandbox = await startSandbox(t);
  const struck = await pairInstance(t, sandbox, OURS, { instanceId: 'struck' });
  const spared = await pairInstance(t, sandbox, '5511988880002', { instanceId: 'spared' });
  const fault = await sandbox.post('/faults', { kind: 'drop', instance: 'struck' });
  assert.equal(fault.struck, 1);
  await until(() => struck.ended.length > 0);
  assert.deepEqual(struck.ended, ['connection_lost']);
  await spared.sendText(THEIRS, 'fine');
  const again = await logIn(t, sandbox.url, struck);
  await again.sendText(THEIRS, 'back');
});

for (const [at, total] of [
  ['before_ledger', 0],
  ['after_ledger', 1],
] as const) {
  test(`drop ${at} on the second send loses the ack and leaves ${total} of it in the ledger`, async (t) => {
    const sandbox = await startSandbox(t);
    const instance = await pairInstance(t, sandbox, OURS);
    await sandbox.post('/faults', { kind: 'drop', at, nth: 2, times: 1, account: OURS });
    await instance.sendText(THEIRS, 'first');
    await assert.rejects(instance.sendText(THEIRS, 'second', ID), SendUnavailable);
    assert.deepEqual(instance.ended, ['connection_lost']);
    assert.equal((await sandbox.get('/ledger')).total, 1 + total);

    const again = await logIn(t, sandbox.url, instance);
    await again.sendText(THEIRS, 'second', ID);
    const { entries } = await sandbox.get('/ledger');
    assert.equal(entries.length, 2);
    assert.equal(entries[1].times_seen, 1 + total);
  });
}

test('drop after_ack answers and then cuts', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'drop', at: 'after_ack', times: 1 });
  await instance.sendText(THEIRS, 'answered', ID);
  await until(() => instance.ended.length > 0);
  assert.deepEqual(instance.ended, ['connection_lost']);
  assert.equal((await sandbox.get('/ledger')).entries[0].network_id, ID);
});

test('delay holds the ack back', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'delay', delay_ms: 500, times: 1 });
  const from = Date.now();
  await instance.sendText(THEIRS, 'slow');
  assert.ok(Date.now() - from >= 490);
  assert.deepEqual((await sandbox.get('/faults')).faults, [], 'once is once');
  await instance.sendText(THEIRS, 'fast');
});

test('silence before the ledger keeps nothing, and the connection stays', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS, { sendTimeoutMs: 4_000 });
  await sandbox.post('/faults', { kind: 'silence', at: 'before_ledger', times: 1 });
  await assert.rejects(instance.sendText(THEIRS, 'void'), SendUnavailable);
  assert.equal((await sandbox.get('/ledger')).total, 0);
  await instance.sendText(THEIRS, 'heard');
  assert.deepEqual(instance.ended, []);
});

test('refuse rejects sends to a phone or from an account with its reason', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  const other = await pairInstance(t, sandbox, '5511988880002');
  await sandbox.post('/faults', { kind: 'refuse', phone: THEIRS, reason: 'not_on_network' });
  await assert.rejects(instance.sendText(THEIRS, 'x'), refusedWith('not_on_network'));
  await assert.rejects(other.sendText(THEIRS, 'x'), refusedWith('not_on_network'));
  await instance.sendText('5511977770002', 'x');

  assert.deepEqual((await sandbox.call('DELETE', '/faults')).body, { cleared: 1 });
  await instance.sendText(THEIRS, 'x');
  await sandbox.post('/faults', { kind: 'refuse', account: OURS });
  await assert.rejects(instance.sendText(THEIRS, 'x'), refusedWith('refused_by_network'));
  await other.sendText(THEIRS, 'x');
});

for (const [kind, reason] of [
  ['ban', 'banned'],
  ['hard_pause', 'hard_paused'],
] as const) {
  test(`${kind} ends the session and refuses logins until it is called off`, async (t) => {
    const sandbox = await startSandbox(t);
    const instance = await pairInstance(t, sandbox, OURS);
    await sandbox.post('/faults', { kind, phone: OURS });
    await until(() => instance.ended.length > 0);
    assert.deepEqual(instance.ended, [reason]);
    assert.deepEqual((await logIn(t, sandbox.url, instance)).ended, [reason]);
    assert.equal((await sandbox.get('/faults')).faults[0].hits, 2);
    await sandbox.call('DELETE', `/faults?kind=${kind}`);
    assert.equal((await logIn(t, sandbox.url, instance)).connected, true);
  });
}

test('offline cuts an instance off for its duration', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS, { instanceId: 'far-away' });
  const offline = { kind: 'offline', instance: 'far-away' };
  const again = () => {
    const { credentials } = instance.identity!;
    return openInstance(t, sandbox.url, { instanceId: 'far-away', credentials });
  };
  await sandbox.post('/faults', offline);
  await until(() => instance.ended.length > 0);
  const tried = await again();
  await until(() => tried.ended.length > 0);
  assert.deepEqual([instance.ended, tried.ended], [['connection_lost'], ['connection_lost']]);
  await sandbox.call('DELETE', '/faults');
  const back = await again();
  await until(() => back.connected);
  await sandbox.post('/faults', { ...offline, duration_ms: 150 });
  await until(() => back.ended.length > 0);
  await until(async () => (await sandbox.get('/faults')).faults.length === 0);
  const last = await again();
  await until(() => last.connected);
});

test('offline keeps a phone from receiving until it is called off', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'offline', phone: THEIRS });
  await instance.sendText(THEIRS, 'in a tunnel');
  await delay(40);
  assert.deepEqual(instance.receipts, []);
  await sandbox.call('DELETE', '/faults');
  await until(() => instance.receipts.length === 1);
});

test('logout unpairs the instance from its phone', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'logout', account: OURS });
  await until(() => instance.ended.length > 0);
  assert.deepEqual(instance.ended, ['logged_out']);
  assert.deepEqual((await logIn(t, sandbox.url, instance)).ended, ['logged_out']);
});

test('repeat_events gives receipts twice', async (t) => {
  const sandbox = await startSandbox(t);
  await sandbox.post('/defaults', { auto_read: false });
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'repeat_events', times: 1 });
  await instance.sendText(THEIRS, 'echo');
  await until(() => instance.receipts.length === 2);
  assert.deepEqual(instance.receipts[0], instance.receipts[1]);
  await instance.sendText(THEIRS, 'no echo');
  await until(() => instance.receipts.length === 3);
});

test('a fault with a probability strikes some and spares some', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'refuse', probability: 0.5 });
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, i) => instance.sendText(THEIRS, `${i}`)),
  );
  const refused = results.filter(({ status }) => status === 'rejected').length;
  assert.ok(refused > 50 && refused < 150, `${refused} of 200`);
  const summary = await sandbox.get('/ledger/summary');
  assert.equal(summary.refused, refused);
  assert.equal(summary.total, 200 - refused);
});

test('a fault is over after the requested number of times', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, OURS);
  await sandbox.post('/faults', { kind: 'refuse', times: 2 });
  const results = [];
  for (let i = 0; i < 4; i++)
    results.push(
      await instance.sendText(THEIRS, `${i}`).then(
        () => 'sent',
        () => 'refused',
      ),
    );
  assert.deepEqual(results, ['refused', 'refused', 'sent', 'sent']);
  assert.deepEqual((await sandbox.get('/faults')).faults, []);
});
