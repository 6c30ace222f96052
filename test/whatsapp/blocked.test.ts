import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  connected,
  type Kept,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  type Recorded,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { node } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { seconds } from '../support/whatsapp/world.ts';

describe('who is blocked on the phone', () => {
  let network: WhatsAppNetwork;
  let driver: Awaited<ReturnType<typeof startNetworkAndDriver>>['driver'];
  let own: PhoneHandle;
  let one: PhoneHandle;
  let other: PhoneHandle;
  let kept: Kept;
  let recorded: Recorded;
  beforeEach(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    [own, one, other] = [network.phone(newNumber()), network.phone(newNumber()), network.phone(newNumber())];
    own.phone.blocked.add(one.number);
    kept = newKept();
    recorded = await openPaired(driver, own, kept);
  });
  afterEach(async () => {
    await recorded.session.close();
    await network.close();
    assert.deepEqual(network.problems, []);
  });

  const told = () =>
    recorded.facts.flatMap((fact) => (fact.kind === 'blocked' ? [[fact.jid, fact.blocked]] : []));

  /** The network tells the devices a change, or only that there is one. */
  function notify(items: { jid: string; action: string }[]): void {
    const attrs = { from: own.jid, id: randomBytes(6).toString('hex'), t: seconds(), type: 'account_sync' };
    const list = items.map((item) => node('item', item));
    own.device.deliver(node('notification', attrs, [node('blocklist', { dhash: 'x' }, list)]));
  }

  it('is told after the pairing, by number, and once', async () => {
    await until(() => told().length > 0, 'the block');
    await recorded.session.close();
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    const marker = other.text(own, 'Behind it');
    await until(() => recorded.inbound.some(({ networkId }) => networkId === marker), 'the marker');
    assert.deepEqual(told(), []);
  });

  it('is asked for again when the network does not say what has changed', async () => {
    await until(() => told().length > 0, 'the block');
    own.phone.blocked.add(other.number);
    notify([{ jid: other.jid, action: 'block' }]);
    await until(() => told().length > 1, 'the other block');
    own.phone.blocked.clear();
    notify([]);
    await until(() => told().length > 3, 'the end of both');
    assert.deepEqual(told(), [
      [one.jid, true],
      [other.jid, true],
      [one.jid, false],
      [other.jid, false],
    ]);
  });
});
