import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import {
  type Kept,
  MemoryKeys,
  newKept,
  openPaired,
  openRecorded,
} from '../support/whatsapp/driver-harness.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const silentLog = { debug() {}, warn() {}, error() {} };

/** The keys of a database that is away for a while. */
class KeysThatGoAway extends MemoryKeys {
  away: 'no' | 'reads' | 'all' = 'no';

  override async read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    if (this.away !== 'no') throw new Error('the database is away');
    return super.read(kind, ids);
  }

  override async write(changes: Parameters<MemoryKeys['write']>[0]): Promise<void> {
    if (this.away === 'all') throw new Error('the database is away');
    return super.write(changes);
  }
}

/**
 * The library tells the network to forget a message that it could not decrypt (`ack` with error 500), whatever the
 * reason. So a session whose keys cannot be read must not write another frame either.
 */
describe('while the keys of a session', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let friend: PhoneHandle;
  let numbers = 0;
  before(async () => {
    network = await startWhatsAppNetwork();
    trustRoot(await loadLibrary(), network.trustedRoot);
    driver = createWhatsAppDriver({ url: network.url, ca: network.ca, log: silentLog });
    friend = network.phone('999800000000');
  });
  after(async () => {
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  for (const away of ['reads', 'all'] as const) {
    it(`cannot be stored or read (${away}), nothing that comes in is told to be lost: it comes again`, async () => {
      numbers += 1;
      const me = network.phone(`99980000000${numbers}`);
      const keys = new KeysThatGoAway();
      const kept: Kept = { ...newKept(), keys };
      const first = await openPaired(driver, me, kept);
      const before = friend.text(me, 'Before');
      await until(() => first.inbound.some(({ networkId }) => networkId === before), 'the first text');
      await until(() => me.device.pending.length === 0, 'it is confirmed');

      // The keys of the last sender are in memory: those of a new sender have to be read.
      const stranger = network.phone(`99980100000${numbers}`);
      keys.away = away;
      const id = stranger.text(me, 'During');
      await until(() => first.ended.length > 0, 'the session ends, as it must');
      assert.equal(
        me.device.pending.some((stanza) => stanza.attrs.id === id),
        true,
        'the network was told that the message needs not come again',
      );

      keys.away = 'no';
      const second = await openRecorded(driver, kept);
      await until(() => second.inbound.some(({ networkId }) => networkId === id), 'the text comes again');
      await second.session.close();
    });
  }
});
