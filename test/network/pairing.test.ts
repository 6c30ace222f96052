import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { SendRefused, SendUnavailable } from '@posthorn/core/network/driver.ts';
import { openInstance, pairInstance, startSandbox, until } from './sandbox-harness.ts';

const PHONE = '5511988880001';

test('scanning the QR pairs the instance with the phone', async (t) => {
  const sandbox = await startSandbox(t);
  await sandbox.post('/phones', { phone: PHONE, name: 'Ana' });
  const instance = await openInstance(t, sandbox.url);
  await until(() => instance.qrs.length > 0);
  const lifeMs = instance.qrs[0]!.expiresAt.getTime() - Date.now();
  assert.ok(lifeMs > 15_000 && lifeMs <= 20_000);

  const paired = await sandbox.post('/pair', { qr: instance.qrs[0]!.qr, phone: PHONE });
  assert.equal(paired.jid, `${PHONE}@s.whatsapp.net`);
  await until(() => instance.connected);
  assert.equal(instance.identity?.phone, PHONE);
  assert.equal(instance.identity?.jid, `${PHONE}@s.whatsapp.net`);
  assert.equal(instance.identity?.pushName, 'Ana');
});

test('a QR is replaced when it expires, and the expired one pairs nobody', async (t) => {
  const sandbox = await startSandbox(t, { qrTtlMs: 60 });
  const instance = await openInstance(t, sandbox.url);
  await until(() => instance.qrs.length >= 3);
  assert.equal(new Set(instance.qrs.map(({ qr }) => qr)).size, instance.qrs.length);
  const answer = await sandbox.call('POST', '/pair', { qr: instance.qrs[0]!.qr, phone: PHONE });
  assert.equal(answer.status, 404);
  assert.equal(answer.body.error_code, 'PAIRING_NOT_FOUND');
  assert.equal(instance.identity, undefined);
});

test('typing the eight-character code on the phone that it was asked for pairs the instance', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await openInstance(t, sandbox.url);
  const code = await instance.session.requestPairingCode(PHONE);
  assert.match(code, /^[A-Z2-9]{8}$/);

  const other = await sandbox.call('POST', '/pair', { code, phone: '5511988880002' });
  assert.equal(other.status, 400);
  assert.equal(other.body.error_code, 'CODE_FOR_OTHER_PHONE');

  await sandbox.post('/pair', { code: `${code.slice(0, 4)}-${code.slice(4).toLowerCase()}`, phone: PHONE });
  await until(() => instance.connected);
  assert.equal(instance.identity?.phone, PHONE);
});

test('a new code voids the one before, and codes expire', async (t) => {
  const sandbox = await startSandbox(t, { codeTtlMs: 50 });
  const instance = await openInstance(t, sandbox.url);
  const first = await instance.session.requestPairingCode(PHONE);
  const second = await instance.session.requestPairingCode(PHONE);
  assert.equal((await sandbox.call('POST', '/pair', { code: first, phone: PHONE })).status, 404);
  await delay(60);
  assert.equal((await sandbox.call('POST', '/pair', { code: second, phone: PHONE })).status, 404);
});

test('an instance that is paired gets no pairing code', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, PHONE);
  await assert.rejects(
    instance.session.requestPairingCode(PHONE),
    new SendRefused('already_paired', 'the network refused the call: already_paired'),
  );
});

test('with auto pairing each instance gets a number of its own without anybody scanning', async (t) => {
  const sandbox = await startSandbox(t, { autoPair: true, autoPairDelayMs: 20 });
  const instances = await Promise.all(Array.from({ length: 5 }, () => openInstance(t, sandbox.url)));
  await until(() => instances.every(({ connected }) => connected));
  assert.equal(new Set(instances.map(({ identity }) => identity!.phone)).size, 5);
  for (const { qrs } of instances) assert.equal(qrs.length, 1);
});

test('credentials open the session again without a QR', async (t) => {
  const sandbox = await startSandbox(t);
  const first = await pairInstance(t, sandbox, PHONE);
  await first.session.close();
  assert.deepEqual(first.ended, ['closed']);

  const again = await openInstance(t, sandbox.url, { credentials: first.identity!.credentials });
  await until(() => again.connected);
  assert.deepEqual(again.qrs, []);
});

test('nothing is delivered before the credentials are stored', async (t) => {
  const sandbox = await startSandbox(t);
  const stored = Promise.withResolvers<void>();
  const calls: string[] = [];
  const instance = await openInstance(t, sandbox.url, {
    sink: {
      async paired() {
        calls.push('paired');
        await stored.promise;
      },
      connected: () => void calls.push('connected'),
      async inbound() {
        calls.push('inbound');
      },
    },
  });
  await until(() => instance.qrs.length > 0);
  await sandbox.post('/pair', { qr: instance.qrs[0]!.qr, phone: PHONE });
  await sandbox.post('/phones/5511977770001/messages', { to: PHONE, text: 'early' });
  await delay(50);
  assert.deepEqual(calls, ['paired']);
  await assert.rejects(instance.sendText('5511977770001', 'too early'), SendUnavailable);
  stored.resolve();
  await until(() => calls.includes('inbound'));
  assert.deepEqual(calls, ['paired', 'connected', 'inbound']);
});

test('logging out voids the credentials', async (t) => {
  const sandbox = await startSandbox(t);
  const instance = await pairInstance(t, sandbox, PHONE);
  await instance.session.logout();
  assert.deepEqual(instance.ended, ['logged_out']);

  const again = await openInstance(t, sandbox.url, { credentials: instance.identity!.credentials });
  await until(() => again.ended.length > 0);
  assert.deepEqual(again.ended, ['logged_out']);
  assert.equal((await sandbox.get(`/phones/${PHONE}`)).instance, null);
});

test('pairing a phone anew ends the pairing it had', async (t) => {
  const sandbox = await startSandbox(t);
  const first = await pairInstance(t, sandbox, PHONE);
  const second = await pairInstance(t, sandbox, PHONE);
  await until(() => first.ended.length > 0);
  assert.deepEqual(first.ended, ['logged_out']);
  assert.deepEqual(second.ended, []);
});
