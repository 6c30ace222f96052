/**
 * A message whose answer did not come is sent again with the same bytes. The phones of these tests ignore ids:
 * `timesSeen` counts how often they could decrypt a message.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type NetworkDriver,
  type OutboundMessage,
  SendDeferred,
  SendRefused,
  SendUnanswered,
  SendUnavailable,
  type SessionKey,
} from '@posthorn/core/network/driver.ts';
import {
  connected,
  endOf,
  type Kept,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  outbound,
  type Recorded,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import type { MessageFault } from '../support/whatsapp/world.ts';

const SEND_TIMEOUT_MS = 2_000;
const GIVE_UP_MS = 8_000;
const CHATS = ['a contact', 'a contact for the first time', 'a group', 'the status'] as const;

describe('a message that got no answer', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let kept: Kept;
  let session: Recorded;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver({
      sendTimeoutMs: SEND_TIMEOUT_MS,
      giveUpMs: GIVE_UP_MS,
    }));
    own = network.phone(newNumber());
    friend = network.phone(newNumber());
    kept = newKept();
    session = await openPaired(driver, own, kept);
    await until(() => own.device.fetches > 0, 'the first fetch of the account');
    const contactAction = { fullName: 'Friend', saveOnPrimaryAddressbook: true };
    own.publish('critical_unblock_low', ['contact', friend.jid], { contactAction });
    await until(() => session.facts.some(({ kind }) => kind === 'contact'), 'the contact');
    await session.session.send(text(friend.jid));
  });
  afterEach(() => {
    network.faults.onMessage = null;
    network.control.releaseAcks(own.device);
    kept.keys.beforeWrite = null;
    for (const { phone } of [own, friend]) assert.deepEqual(phone.failures, []);
  });
  after(async () => {
    await session?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  function text(to: string, words = 'Once'): OutboundMessage {
    return outbound(to, to === 'status@broadcast' ? 'status_text' : 'text', { text: words });
  }

  function chatOf(which: (typeof CHATS)[number]): { to: string; reader: PhoneHandle } {
    if (which === 'a group') return { to: network.group(own, 'Rowers', [friend]).jid, reader: friend };
    if (which === 'the status') return { to: 'status@broadcast', reader: friend };
    if (which === 'a contact') return { to: friend.jid, reader: friend };
    const stranger = network.phone(newNumber());
    return { to: stranger.jid, reader: stranger };
  }

  /** The next messages get these faults, one each. */
  function meets(...faults: (MessageFault | null)[]): void {
    network.faults.onMessage = () => faults.shift() ?? null;
  }

  async function reopen(): Promise<void> {
    session = await openRecorded(driver, kept);
    await connected(session);
  }

  const entryOf = ({ networkId }: OutboundMessage) => network.ledger.find(({ id }) => id === networkId);
  const timesSeen = ({ phone }: PhoneHandle, { networkId }: OutboundMessage) =>
    phone.messages.filter(({ id }) => id === networkId).reduce((sum, each) => sum + each.timesSeen, 0);
  const repeats = ({ phone }: PhoneHandle, { networkId }: OutboundMessage) =>
    phone.repeats.filter(({ id }) => id === networkId).length;
  const stanzas = async () => [...(await kept.keys.read('stanza')).keys()];

  for (const which of CHATS) {
    it(`since the line was cut comes once, with the same bytes: to ${which}`, async () => {
      const { to, reader } = chatOf(which);
      const message = text(to);
      meets('drop_after_ledger');
      await assert.rejects(session.session.send(message), SendUnavailable);
      assert.equal(await endOf(session), 'connection_lost');
      await reopen();
      await session.session.send(message);
      const [first, second] = entryOf(message)!.stanzas;
      assert.deepEqual(second, first);
      await until(() => repeats(reader, message) > 0, 'the repeat is passed over');
      assert.deepEqual([timesSeen(reader, message), timesSeen(own, message)], [1, 1]);
    });

    it(`since the line was cut before the network had it comes once: to ${which}`, async () => {
      const { to, reader } = chatOf(which);
      const messages = [text(to, 'first'), text(to, 'second')];
      meets('drop_before_ledger');
      const [first, second] = messages.map((message) => session.session.send(message));
      await assert.rejects(first!, SendUnavailable);
      await assert.rejects(second!, SendUnavailable);
      await endOf(session);
      await reopen();
      await Promise.all(messages.map((message) => session.session.send(message)));
      await reader.message(messages[1]!.networkId);
      const seen = reader.messages.filter(({ id }) => messages.some(({ networkId }) => networkId === id));
      assert.deepEqual(
        seen.map(({ id, timesSeen: times }) => [id, times]),
        messages.map(({ networkId }) => [networkId, 1]),
      );
    });
  }

  it('is sent again on an intact connection, and an answer to either counts', async () => {
    const message = text(friend.jid);
    meets('hold_ack');
    await assert.rejects(session.session.send(message), SendUnavailable);
    await session.session.send(message);
    assert.equal(entryOf(message)?.timesSeen, 2);
    // The first answer comes late.
    network.control.releaseAcks(own.device);
    assert.deepEqual([timesSeen(friend, message), repeats(friend, message)], [1, 1]);
    const next = text(friend.jid, 'next');
    await session.session.send(next);
    await friend.message(next.networkId);
  });

  it('and whose answer comes between two tries is not sent again', async () => {
    const message = text(friend.jid);
    meets('hold_ack');
    await assert.rejects(session.session.send(message), SendUnavailable);
    network.control.releaseAcks(own.device);
    await session.session.send(text(friend.jid, 'so the answers before it have come'));
    await session.session.send(message);
    assert.equal(entryOf(message)?.timesSeen, 1);
  });

  it('is given up after a while on an intact connection, and late proof is reported', async () => {
    const message = text(friend.jid);
    network.faults.onMessage = () => 'hold_ack';
    const startedAt = performance.now();
    let end: unknown;
    do
      end = await session.session.send(message).then(
        () => null,
        (err: unknown) => err,
      );
    while (end instanceof SendUnavailable && performance.now() - startedAt < 30_000);
    assert.ok(end instanceof SendUnanswered, String(end));
    session.session.recorded([message.networkId]);
    network.faults.onMessage = null;
    network.control.releaseAcks(own.device);
    const proof = await until(
      () =>
        session.receipts.find(({ networkId, kind }) => networkId === message.networkId && kind === 'sent'),
      'the proof',
    );
    assert.equal(proof.chat, friend.jid);
    assert.equal(timesSeen(friend, message), 1);
  });

  it('is given up when every connection ends with it', async () => {
    const message = text(friend.jid);
    network.faults.onMessage = (_device, { attrs }) =>
      attrs.id === message.networkId ? 'drop_before_ledger' : null;
    let end: unknown;
    for (let tries = 0; tries < 100 && !(end instanceof SendUnanswered); tries += 1) {
      end = await session.session.send(message).catch((err: unknown) => err);
      if (!(end instanceof SendUnavailable)) break;
      await endOf(session);
      await delay(100);
      await reopen();
    }
    assert.ok(end instanceof SendUnanswered, String(end));
    await session.session.send(text(friend.jid, 'what follows goes on'));
  });

  it('is answered at any time and in any order', async () => {
    const messages = Array.from({ length: 8 }, (_, nth) => text(friend.jid, `${nth}`));
    network.faults.onMessage = () => 'hold_ack';
    const sent = messages.map((message) => session.session.send(message));
    await until(() => own.device.heldAcks.length === messages.length, 'all are at the network');
    own.device.heldAcks.reverse();
    own.device.heldAcks.push(...own.device.heldAcks);
    network.control.releaseAcks(own.device);
    await Promise.all(sent);
    assert.deepEqual(
      friend.messages.slice(-messages.length).map(({ id, timesSeen: times }) => [id, times]),
      messages.map(({ networkId }) => [networkId, 1]),
    );
  });

  it('and was refused, or cannot be taken now, is reported and not encrypted anew', async () => {
    const refused = text(friend.jid);
    meets({ error: 479 });
    await assert.rejects(session.session.send(refused), SendRefused);
    await assert.rejects(session.session.send(refused), SendRefused);
    const busy = text(friend.jid);
    meets({ error: 503 });
    await assert.rejects(session.session.send(busy), SendDeferred);
    await session.session.send(busy);
    await friend.message(busy.networkId);
    assert.equal(timesSeen(friend, busy), 1);
    assert.equal(timesSeen(friend, refused), 0);
  });

  it('is kept until its outcome is recorded', async () => {
    const message = text(friend.jid);
    await session.session.send(message);
    assert.ok((await stanzas()).includes(message.networkId));
    session.session.recorded([message.networkId]);
    const gone = async () => !(await stanzas()).includes(message.networkId);
    for (const end = performance.now() + 30_000; !(await gone()); await delay(50))
      assert.ok(performance.now() < end, 'the stanza is kept');
  });

  it('is stored with the ratchets that it moved before a byte of it leaves', async () => {
    const group = network.group(own, 'Singers', [friend]).jid;
    for (const to of [friend.jid, network.phone(newNumber()).jid, group, 'status@broadcast']) {
      const message = text(to);
      const withStanza: SessionKey[] = [];
      kept.keys.beforeWrite = (changes) => {
        if (!changes.some(({ id }) => id === message.networkId)) return;
        assert.equal(entryOf(message), undefined, 'nothing has left before');
        withStanza.push(...changes);
      };
      await session.session.send(message);
      const kinds = new Set(withStanza.map(({ kind }) => kind));
      assert.ok(kinds.has('stanza') && kinds.has('message'), [...kinds].join());
      assert.ok(kinds.has('session') || kinds.has('sender-key'), [...kinds].join());
    }
  });

  it('and could not be composed is followed by nothing that was waiting behind it', async () => {
    const messages = [text('status@broadcast'), text(friend.jid, 'behind it')];
    const { read } = kept.keys;
    kept.keys.read = async (kind, ids) => {
      if (kind === 'contact') throw new Error('the database is away');
      return read.call(kept.keys, kind, ids);
    };
    const sent = messages.map((message) => assert.rejects(session.session.send(message)));
    await Promise.all(sent);
    kept.keys.read = read;
    assert.deepEqual(messages.map(entryOf), [undefined, undefined]);
    await Promise.all(messages.map((message) => session.session.send(message)));
    const order = network.ledger.slice(-2).map(({ id }) => id);
    assert.deepEqual(
      order,
      messages.map(({ networkId }) => networkId),
    );
  });

  it('and could not be stored has not been sent; the next session sends it', async () => {
    const message = text(friend.jid);
    kept.keys.beforeWrite = (changes) => {
      if (changes.some(({ kind }) => kind === 'stanza')) throw new Error('the lease is lost');
    };
    await assert.rejects(session.session.send(message), SendUnavailable);
    await endOf(session);
    kept.keys.beforeWrite = null;
    assert.equal(entryOf(message), undefined);
    await reopen();
    await session.session.send(message);
    await friend.message(message.networkId);
    assert.deepEqual([timesSeen(friend, message), entryOf(message)?.timesSeen], [1, 1]);
  });

  it('and is asked for again meanwhile by a device that has lost its keys is shown once', async () => {
    friend.phone.restart(`${own.number}.${own.device.id}`);
    const message = text(friend.jid);
    meets('hold_ack');
    const sent = session.session.send(message);
    await friend.message(message.networkId);
    network.control.releaseAcks(own.device);
    await sent;
    await session.session.send(text(friend.jid, 'then'));
    assert.equal(timesSeen(friend, message), 1);
    assert.deepEqual(
      friend.phone.failures.splice(0).map(({ id }) => id),
      [message.networkId],
    );
  });
});
