import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { KINDS } from '@posthorn/network/whatsapp/keys.ts';
import { timerOf } from '@posthorn/network/whatsapp/wire/content.ts';
import type { WireMessage } from '@posthorn/network/whatsapp/wire/wire-types.ts';
import {
  connected,
  type Kept,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  outbound,
  type Recorded,
} from '../support/whatsapp/driver-harness.ts';
import { setTimer } from '../support/whatsapp/groups.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const WAIT_MS = 30_000;
const DAY = 86_400;
const WEEK = 7 * DAY;
const timed = (text: string, expiration: number) => ({
  extendedTextMessage: { text, contextInfo: { expiration } },
});
const setting = (ephemeralExpiration: number) => ({
  protocolMessage: { type: 3, ephemeralExpiration },
});

describe('in a chat whose messages disappear', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let kept: Kept;
  let recorded: Recorded;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    own = network.phone(newNumber());
    kept = newKept();
    recorded = await openPaired(driver, own, kept);
  });
  beforeEach(() => {
    friend = network.phone(newNumber());
  });
  after(async () => {
    await recorded?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  async function heard(id: string): Promise<void> {
    await until(() => recorded.inbound.some(({ networkId }) => networkId === id), 'the message', WAIT_MS);
  }

  /** The timer of the next sent message. */
  async function sent(
    to: string,
    type = 'text',
    content: Record<string, unknown> = { text: 'hello' },
    more: Parameters<typeof outbound>[3] = {},
  ): Promise<number | null> {
    const message = outbound(to, type, content, more);
    await recorded.session.send(message);
    return timerOf((await friend.message(message.networkId, WAIT_MS)).wire);
  }

  it('a sent message disappears as well, from the first message with a timer on', async () => {
    assert.equal(await sent(friend.jid), 0);
    await heard(friend.send(own, timed('soon gone', DAY)));
    assert.equal(await sent(friend.jid), DAY);
    const image = {
      open: async () => Readable.from([Buffer.alloc(100)]),
      mimeType: 'image/jpeg',
      fileName: 'a.jpg',
      sizeBytes: 100,
    };
    assert.equal(await sent(friend.jid, 'image', {}, { media: image }), DAY);
    assert.equal(await sent(friend.jid, 'location', { latitude: 1, longitude: 2 }), DAY);
    assert.equal(
      await sent(friend.jid, 'poll', { question: 'q', options: ['a', 'b'], max_selections: 1 }),
      DAY,
    );
    const text = friend.send(own, timed('react to this', DAY));
    await heard(text);
    const target = { id: text, sender: friend.jid, from_me: false };
    assert.equal(await sent(friend.jid, 'reaction', { emoji: 'x' }, { target }), null);
  });

  it('a change or an end of the timer counts, whoever makes it', async () => {
    await heard(friend.send(own, timed('soon gone', DAY)));
    for (const [by, chat, seconds] of [
      [friend, own, WEEK],
      [own, friend, DAY],
      [friend, own, 0],
    ] as const) {
      by.send(chat, setting(seconds));
      await until(async () => (await sent(friend.jid)) === seconds, `a timer of ${seconds}`, WAIT_MS);
    }
  });

  it('a message without a timer ends the timer', async () => {
    await heard(friend.send(own, timed('soon gone', DAY)));
    assert.equal(await sent(friend.jid), DAY);
    await heard(friend.text(own, 'to stay'));
    assert.equal(await sent(friend.jid), 0);
  });

  it('the next session knows the timer', async () => {
    await heard(friend.send(own, timed('soon gone', WEEK)));
    assert.equal(await sent(friend.jid), WEEK);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await recorded.session.close();
    kept.epoch += 1;
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    assert.equal(await sent(friend.jid), WEEK);
  });

  it('a message whose timer could not be read here is not deferred, so that no later one overtakes it', async () => {
    await recorded.session.close();
    kept.epoch += 1;
    const { read } = kept.keys;
    kept.keys.read = async (kind, ids) => {
      if (kind === KINDS.timer) throw new Error('the database is away');
      return read.call(kept.keys, kind, ids);
    };
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    const message = outbound(friend.jid, 'text', { text: 'once' });
    await assert.rejects(recorded.session.send(message), { message: 'the database is away' });
    kept.keys.read = read;
    await recorded.session.send(message);
    assert.equal((await friend.message(message.networkId, WAIT_MS)).timesSeen, 1);
  });

  it('the timer of a group is known from the group, and so are its changes', async () => {
    const group = network.group(own, 'Secrets', [friend]);
    await heard(friend.text(own, 'marker'));
    assert.equal(await sent(group.jid), 0);
    setTimer(group, friend.phone, DAY);
    await heard(friend.text(own, 'marker'));
    assert.equal(await sent(group.jid), DAY);
    // It counts more than the timer in a member's message.
    await heard(friend.text(group.jid, 'to stay'));
    assert.equal(await sent(group.jid), DAY);
    setTimer(group, friend.phone, 0);
    await heard(friend.text(own, 'marker'));
    assert.equal(await sent(group.jid), 0);
  });
});

describe('the timer of a message', () => {
  for (const [what, message, seconds] of [
    ['a plain text', { conversation: 'x' }, 0],
    ['a text with one', timed('x', DAY), DAY],
    ['a text in a wrapper', { ephemeralMessage: { message: timed('x', WEEK) } }, WEEK],
    ['a text with nonsense', timed('x', 4_000_000_000), 0],
    ['a text with a negative one', timed('x', -1), 0],
    ['a reaction', { reactionMessage: { text: 'x' } }, null],
    ['a change of the timer', setting(WEEK), WEEK],
    ['a change of the timer in a wrapper', { ephemeralMessage: { message: setting(DAY) } }, DAY],
    ['a change of the timer to none', setting(0), 0],
    ['a deletion', { protocolMessage: { type: 0 } }, null],
    ['nothing', {}, null],
  ] as const)
    it(`is ${seconds} for ${what}`, () => {
      assert.equal(timerOf(message as WireMessage), seconds);
    });
});
