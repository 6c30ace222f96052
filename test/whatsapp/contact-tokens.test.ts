import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { waitFor } from '../support/process.ts';
import {
  connected,
  type Kept,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { bytesOf, child, node } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { seconds } from '../support/whatsapp/world.ts';

/** A contact who has a token of an account knows it: the network lets them write to each other more freely. */
describe('tokens of contacts:', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let kept: Kept;
  let recorded: Recorded;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    own = network.phone(newNumber());
    friend = network.phone(newNumber());
    kept = newKept();
    recorded = await openPaired(driver, own, kept);
  });
  after(async () => {
    await recorded?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  const given = () =>
    network.world.tokensGiven.filter(({ by, to }) => by === own.number && to === friend.jid);

  async function write(text: string): Promise<void> {
    await friend.message(await sendText(recorded, friend.jid, text));
  }

  it('a contact gets one with the first text, and none with the next ones', async () => {
    await write('First');
    await until(() => given().length > 0, 'the token');
    await waitFor(async () => (await kept.keys.read('tctoken')).size > 0);
    for (const text of ['Second', 'Third', 'Fourth']) await write(text);
    assert.equal(given().length, 1);
  });

  it('nor with texts of the next connection', async () => {
    await recorded.session.close();
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    for (const text of ['Fifth', 'Sixth']) await write(text);
    assert.equal(given().length, 1);
  });

  it('the token of a contact goes with the texts to them', async () => {
    const token = Buffer.from('a token of theirs');
    const t = seconds();
    own.device.deliver(
      node('notification', { from: friend.jid, id: 'token-1', t, type: 'privacy_token' }, [
        node('tokens', {}, [node('token', { jid: own.jid, t, type: 'trusted_contact' }, token)]),
      ]),
    );
    const stored = async () => JSON.stringify([...(await kept.keys.read('tctoken'))]);
    await waitFor(async () => (await stored()).includes(token.toString('base64')));
    const id = await sendText(recorded, friend.jid, 'Seventh');
    const [stanza] = network.ledger.find((entry) => entry.id === id)!.stanzas;
    assert.deepEqual(bytesOf(child(stanza!, 'tctoken')), token);
    assert.equal(given().length, 1);
  });

  it('there is no list of all contacts that would be written anew with each', async () => {
    assert.deepEqual([...(await kept.keys.read('tctoken')).keys()], [friend.lid]);
  });
});
