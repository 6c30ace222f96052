import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import { connectRaw, newState, pairRaw } from '../support/whatsapp/raw-client.ts';

describe('on the simulated WhatsApp network', () => {
  let network: WhatsAppNetwork;
  before(async () => {
    network = await startWhatsAppNetwork();
  });
  after(async () => {
    await network.close();
    assert.deepEqual(network.problems, []);
    assert.deepEqual(network.unknownQuestions, []);
  });

  it('a client pairs by QR, is told to log in again, and is the phone’s device', async () => {
    const phone = network.phone('999100000001');
    const [client] = await pairRaw(network, (qr) => phone.scan(qr));
    assert.equal(client.socket.user?.id, phone.device.jid);
    assert.equal(phone.device.logins, 1);
    await until(() => phone.device.preKeys.length > 800, 'the client publishes its prekeys');
    await client.close();
  });

  it('a paired client logs in again with what it kept', async () => {
    const phone = network.phone('999100000002');
    const [client, state] = await pairRaw(network, (qr) => phone.scan(qr));
    await client.close();
    const again = await connectRaw(network, state);
    await again.opened();
    assert.deepEqual([phone.device.logins, phone.device.doubleLogins], [2, 0]);
    await again.close();
  });

  it('a client pairs by the code that the user types', async () => {
    const phone = network.phone('999100000003');
    const state = await newState();
    const first = await connectRaw(network, state);
    await until(() => first.qrs[0], 'a QR code');
    const code = await first.socket.requestPairingCode(phone.number);
    await phone.enterCode(code);
    assert.equal(await first.closed(), 515);
    const client = await connectRaw(network, state);
    await client.opened();
    assert.equal(client.socket.user?.id, phone.device.jid);
    await client.close();
  });
});
