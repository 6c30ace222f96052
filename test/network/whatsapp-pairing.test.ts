import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { node } from '../support/whatsapp/nodes.ts';
import { openWhatsApp, pairWhatsApp, reopenWhatsApp, startNetwork, until } from './whatsapp-harness.ts';

let network: WhatsAppNetwork;
before(async () => {
  network = await startNetwork();
});
after(() => network.close());

test('an instance pairs by QR, logs in by itself after the pairing, and again with its kept credentials', async (t) => {
  const phone = network.phone('5511900000001', 'Ada');
  const first = await pairWhatsApp(t, network, phone);
  assert.equal(first.identity?.phone, '5511900000001');
  assert.equal(first.identity?.jid, '5511900000001@s.whatsapp.net');
  assert.deepEqual(first.ended, [], 'the relogin that the network asks for is no end');
  await first.session.close();
  assert.deepEqual(first.ended, [{ reason: 'closed', error: undefined }]);
  const second = await reopenWhatsApp(t, network, first);
  await until(() => second.connections === 1, 'the second login');
  assert.deepEqual(second.qrs, []);
});

test('an instance pairs by a code that is typed on the phone', async (t) => {
  const phone = network.phone('5511900000002');
  const instance = await openWhatsApp(t, { url: network.url, ca: network.ca });
  const code = await instance.session.requestPairingCode(phone.number);
  assert.match(code, /^[0-9A-Z]{8}$/);
  await phone.enterCode(code);
  await until(() => instance.connections > 0, 'the login after the pairing');
  assert.equal(instance.identity?.phone, phone.number);
});

test('an unreachable network is reported in words, and nothing is thrown', async (t) => {
  const instance = await openWhatsApp(t, { url: 'ws://127.0.0.1:9/ws/chat' });
  const { reason, error } = await until(() => instance.ended[0], 'the end of the session');
  assert.equal(reason, 'connection_lost');
  assert.equal(error, 'the WhatsApp network cannot be reached (ECONNREFUSED); it is tried again');
});

test('a pairing whose credentials could not be kept is not confirmed to the phone', async (t) => {
  const phone = network.phone('5511900000003');
  let tries = 0;
  const instance = await openWhatsApp(t, {
    url: network.url,
    ca: network.ca,
    sink: {
      async paired() {
        tries += 1;
        throw new Error('the database is away');
      },
    },
  });
  phone.scan(await until(() => instance.qrs.at(-1), 'a QR code'));
  await until(() => tries >= 2, 'a second try to record it');
  assert.equal(instance.connections, 0);
});

test('a network that lets in a session before it was paired has connected nobody', async (t) => {
  const instance = await openWhatsApp(t, { url: network.url, ca: network.ca });
  await until(() => instance.qrs.at(-1), 'a QR code');
  const { connection } = [...network.world.waiting.values()].at(-1)!;
  connection.send(node('success', { t: '1800000000', lid: '123456:1@lid' }));
  const { reason, error } = await until(() => instance.ended[0], 'the end of the session');
  assert.deepEqual(
    { reason, error },
    { reason: 'failed', error: 'the network let in a session that was not paired' },
  );
  assert.equal(instance.connections, 0);
  assert.equal(instance.identity, undefined);
});

test('why the network ends a session', async (t) => {
  const table = [
    ['logout', 'logged_out'],
    ['kick', 'replaced'],
    ['ban', 'banned'],
    ['drop', 'connection_lost'],
  ] as const;
  for (const [index, [control, reason]] of table.entries()) {
    const phone = network.phone(`55119000001${index}0`);
    const instance = await pairWhatsApp(t, network, phone);
    network.control[control](phone.device);
    const ended = await until(() => instance.ended[0], `the end by ${control}`);
    assert.equal(ended.reason, reason, control);
  }
});

test('a network that requires a newer version is distinguished from one that is away', async (t) => {
  const phone = network.phone('5511900000004');
  const first = await pairWhatsApp(t, network, phone);
  await first.session.close();
  network.faults.failLogin = { reason: 405, times: 1 };
  t.after(() => {
    network.faults.failLogin = null;
  });
  const second = await reopenWhatsApp(t, network, first);
  assert.equal((await until(() => second.ended[0], 'the end')).reason, 'version_refused');
});

test('a logout ends the pairing at the network, and a session without its keys is logged out', async (t) => {
  const phone = network.phone('5511900000005');
  const first = await pairWhatsApp(t, network, phone);
  await first.session.logout();
  assert.equal(first.ended[0]?.reason, 'logged_out');
  await first.keys.clear();
  const second = await reopenWhatsApp(t, network, first);
  assert.equal((await until(() => second.ended[0], 'the end')).reason, 'logged_out');
});
