import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { newKept, newNumber, openPaired } from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import { welcome } from '../support/whatsapp/phone-outbox.ts';

const WAIT_MS = 60_000;

describe('a phone that gives its history more than 20 seconds after the pairing', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
  });
  after(async () => {
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  // As whatsmeow does: it fetches what it has not yet when the phone gives the key.
  it('gives its contacts, too', async () => {
    const [own, friend] = [network.phone(newNumber()), network.phone(newNumber())];
    own.publish('critical_unblock_low', ['contact', friend.jid], { contactAction: { fullName: 'Ada' } });
    own.remember(friend, [{ text: 'Long ago', fromMe: false, at: new Date(1_700_000_000_000) }]);
    own.phone.isSlow = true;
    const kept = newKept();
    let isGivenUp = false;
    kept.keys.afterWrite = (rows) => {
      for (const { kind, value } of rows)
        if (kind === 'creds')
          isGivenUp ||= (value as { accountSyncCounter?: number }).accountSyncCounter === 1;
    };
    const recorded = await openPaired(driver, own, kept);
    await until(() => isGivenUp, 'the library waits no longer', WAIT_MS);
    welcome(network.world, own.phone, own.device);
    await until(() => recorded.history.length > 0, 'the history', WAIT_MS);
    await until(
      () => recorded.facts.some((fact) => fact.kind === 'contact' && fact.jid === friend.jid),
      'the contact',
      WAIT_MS,
    );
    await recorded.session.close();
  });
});
