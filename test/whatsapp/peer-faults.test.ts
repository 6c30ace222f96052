import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { connectRaw, pairRaw, type RawClient, type RawState } from '../support/whatsapp/raw-client.ts';

describe('a client on the simulated WhatsApp network sees that', () => {
  let network: WhatsAppNetwork;
  let ann: PhoneHandle;
  let bob: PhoneHandle;
  let client: RawClient;
  let state: RawState;
  let pairs = 0;
  before(async () => {
    network = await startWhatsAppNetwork();
    bob = network.phone('999600000000');
  });
  beforeEach(async () => {
    pairs += 1;
    ann = network.phone(`99960000000${pairs}`);
    [client, state] = await pairRaw(network, (qr) => ann.scan(qr));
  });
  after(async () => {
    await network.close();
    assert.deepEqual(network.problems, []);
  });

  it('another login takes its place', async () => {
    const other = await connectRaw(network, state);
    assert.equal(await client.closed(), 440);
    await other.opened();
    assert.equal(ann.device.doubleLogins, 1);
    network.control.kick(ann.device);
    assert.equal(await other.closed(), 440);
  });

  it('the phone unlinks it, and it is not let in again', async () => {
    const { device } = ann;
    network.control.logout(device);
    assert.equal(await client.closed(), 401);
    const again = await connectRaw(network, state);
    assert.equal(await again.closed(), 401);
  });

  it('the number is banned', async () => {
    network.control.ban(ann.device);
    assert.equal(await client.closed(), 406);
    const again = await connectRaw(network, state);
    assert.equal(await again.closed(), 406);
  });

  it('it has to log in again, or that the network is not available', async () => {
    network.control.streamError(ann.device, 515);
    assert.equal(await client.closed(), 515);
    network.faults.failLogin = { reason: 503, times: 1 };
    assert.equal(await (await connectRaw(network, state)).closed(), 503);
    const again = await connectRaw(network, state);
    await again.opened();
    await again.close();
  });

  it('its version is too old', async () => {
    await client.close();
    network.faults.oldestVersion = [3, 0, 0];
    assert.equal(await (await connectRaw(network, state)).closed(), 405);
    network.faults.oldestVersion = null;
  });

  it('the line is cut before the network took a message, or after', async () => {
    network.faults.onMessage = () => 'drop_before_ledger';
    await client.socket.sendMessage(bob.jid, { text: 'Lost' }, { messageId: '3EB0EE01' });
    assert.equal(await client.closed(), 428);
    assert.equal(
      network.ledger.some(({ id }) => id === '3EB0EE01'),
      false,
    );
    network.faults.onMessage = () => 'drop_after_ledger';
    const again = await connectRaw(network, state);
    await again.opened();
    await again.socket.sendMessage(bob.jid, { text: 'Taken' }, { messageId: '3EB0EE02' });
    assert.equal(await again.closed(), 428);
    await bob.message('3EB0EE02');
    network.faults.onMessage = null;
  });

  it('a message is refused', async () => {
    network.faults.onMessage = () => ({ error: 479 });
    await client.socket.sendMessage(bob.jid, { text: 'No' }, { messageId: '3EB0EE03' });
    // The library gives status 0 both to an error and to a missing answer: the ledger tells which it was.
    await client.socket.sendPresenceUpdate('composing', bob.jid);
    await until(() => bob.phone.typing.length > 0, 'what was sent after it');
    assert.equal(
      network.ledger.some(({ id }) => id === '3EB0EE03'),
      false,
    );
    network.faults.onMessage = null;
    await client.close();
  });

  it('a phone that has lost its session asks once more, and then reads the message', async () => {
    await client.socket.sendMessage(bob.jid, { text: 'First' }, { messageId: '3EB0EE04' });
    await bob.message('3EB0EE04');
    await client.message(bob.text(ann, 'Answer'));
    bob.phone.restart(`${ann.number}.${ann.device.id}`);
    await client.socket.sendMessage(bob.jid, { text: 'Second' }, { messageId: '3EB0EE05' });
    const received = await bob.message('3EB0EE05');
    assert.deepEqual(received.wire.extendedTextMessage, { text: 'Second' });
    assert.equal(bob.phone.failures.length, 1);
    await client.close();
  });
});
