import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NetworkDriver, SessionKey } from '@posthorn/core/network/driver.ts';
import {
  connected,
  type Kept,
  MemoryKeys,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const ROUNDS = 30;
const LIVES = 4;
const OTHERS = 3;
const WAIT_MS = 60_000;

/** The keys of a slow database, so that sent and received messages overlap. */
class SlowKeys extends MemoryKeys {
  override async read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    await delay(2);
    return super.read(kind, ids);
  }

  override async write(changes: readonly SessionKey[]): Promise<void> {
    await delay(3);
    return super.write(changes);
  }
}

/**
 * Sent messages are encrypted under the number of a contact and received ones are decrypted under its anonymous id, and
 * both move one ratchet. Each has to see the state that the other has left.
 */
describe('messages that cross each other on the way', () => {
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
    kept = { ...newKept(), keys: new SlowKeys() };
    recorded = await openPaired(driver, own, kept);
    await until(() => recorded.history.length > 0, 'the history', WAIT_MS);
  });
  after(async () => {
    await recorded?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  /** Asserts that all messages came, and that each could be decrypted when it came. */
  async function allIsRead(sent: readonly string[], received: readonly string[]): Promise<void> {
    for (const id of sent) await friend.message(id, WAIT_MS);
    await until(
      () => received.every((id) => recorded.inbound.some(({ networkId }) => networkId === id)),
      'all that came was handed over',
      WAIT_MS,
    );
    assert.deepEqual([friend.phone.failures, own.phone.failures], [[], []]);
    const again = [...friend.phone.receipts, ...own.phone.receipts].filter(({ type }) => type === 'retry');
    assert.deepEqual(again, []);
  }

  it('can all be read, at both ends and at the first time', async () => {
    const received: string[] = [];
    const sent: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const text of [`in ${round}`, `in ${round}, too`]) received.push(friend.text(own, text));
      sent.push(await sendText(recorded, friend.jid, `out ${round}`));
    }
    await allIsRead(sent, received);
  });

  it('can all be read while sessions begin: what waited comes in as the first message goes out', async () => {
    for (let life = 0; life < LIVES; life += 1) {
      await recorded.session.close();
      const received = [friend.text(own, `waited ${life}`), friend.text(own, `waited ${life}, too`)];
      recorded = await openRecorded(driver, kept);
      await connected(recorded);
      const sent: string[] = [];
      for (let round = 0; round < 4; round += 1) {
        received.push(friend.text(own, `in ${life}.${round}`));
        sent.push(await sendText(recorded, friend.jid, `out ${life}.${round}`));
      }
      await allIsRead(sent, received);
    }
  });

  it('can be read when one comes in an older session than the one that has just begun', async () => {
    const before = await sendText(recorded, friend.jid, 'before');
    await friend.message(before, WAIT_MS);
    await allIsRead([before], [friend.text(own, 'before')]);
    await recorded.session.close();
    friend.goOffline();
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    // The first message after a login begins a new session, which the friend does not know yet.
    const sent = [await sendText(recorded, friend.jid, 'in the new session')];
    const received = [friend.text(own, 'in the old session')];
    await until(
      () => recorded.inbound.some(({ networkId }) => networkId === received[0]),
      'the text',
      WAIT_MS,
    );
    sent.push(await sendText(recorded, friend.jid, 'in the new session, too'));
    friend.comeOnline();
    await allIsRead(sent, received);
  });

  it('can all be read where several sessions of one process write to one contact', async () => {
    const others = await Promise.all(
      Array.from({ length: OTHERS }, async () => {
        const phone = network.phone(newNumber());
        const other = await openPaired(driver, phone, { ...newKept(), keys: new SlowKeys() });
        await until(() => other.history.length > 0, 'the history', WAIT_MS);
        return { phone, other };
      }),
    );
    await Promise.all(
      others.map(async ({ phone, other }) => {
        const received: string[] = [];
        const sent: string[] = [];
        for (let round = 0; round < ROUNDS / 3; round += 1) {
          received.push(friend.text(phone, `in ${round}`));
          sent.push(await sendText(other, friend.jid, `out ${round}`));
        }
        for (const id of sent) await friend.message(id, WAIT_MS);
        const isHere = (id: string) => other.inbound.some(({ networkId }) => networkId === id);
        await until(() => received.every(isHere), 'all that came was handed over', WAIT_MS);
        assert.deepEqual(phone.phone.failures, []);
      }),
    );
    await Promise.all(others.map(({ other }) => other.session.close()));
    assert.deepEqual(friend.phone.failures, []);
  });
});
