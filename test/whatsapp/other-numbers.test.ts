import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import {
  connected,
  type Kept,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  outbound,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const WAIT_MS = 30_000;
/** The number as everybody writes it; the account is from before numbers in Brazil got a ninth digit. */
const WRITTEN = '5584988887777@s.whatsapp.net';
const ACCOUNT = '558488887777';

describe('a number whose account has another one', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let own: PhoneHandle;
  let friend: PhoneHandle;
  let kept: Kept;
  let recorded: Recorded;
  let first: string;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    own = network.phone(newNumber());
    friend = network.phone(ACCOUNT);
    kept = newKept();
    recorded = await openPaired(driver, own, kept);
    first = await sendText(recorded, WRITTEN, 'hello');
  });
  after(async () => {
    await recorded?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  const send = async (
    type: string,
    content: Record<string, unknown>,
    more: Parameters<typeof outbound>[3],
  ) => {
    const message = outbound(WRITTEN, type, content, more);
    await recorded.session.send(message);
    return (await friend.message(message.networkId, WAIT_MS)).wire;
  };

  it('gets texts and media, and what becomes of them is told', async () => {
    assert.equal((await friend.message(first, WAIT_MS)).wire.conversation, 'hello');
    await until(
      () => recorded.receipts.some(({ networkId, kind }) => networkId === first && kind === 'delivered'),
      'the receipt',
      WAIT_MS,
    );
    const bytes = Buffer.alloc(1_000, 'picture');
    const media = {
      open: async () => Readable.from([bytes]),
      ...{ mimeType: 'image/jpeg', fileName: 'a.jpg', sizeBytes: bytes.length },
    };
    const image = outbound(WRITTEN, 'image', {}, { media });
    await recorded.session.send(image);
    assert.deepEqual(friend.open(await friend.message(image.networkId, WAIT_MS), 'image'), bytes);
  });

  it('is told to lead to that account, once', () => {
    const told = recorded.facts.filter(({ kind }) => kind === 'lid');
    assert.deepEqual(
      told
        .map((fact) => fact.kind === 'lid' && [fact.lid, fact.phone])
        .filter((pair) => pair && pair[0] === WRITTEN),
      [[WRITTEN, ACCOUNT]],
    );
  });

  it('gets reactions, answers, edits, forwards and deletions of what was sent', async () => {
    const target = { id: first, from_me: true };
    const reaction = await send('reaction', { emoji: '👍' }, { target });
    assert.equal((reaction.reactionMessage as { key: { id: string } }).key.id, first);
    const answer = await send('text', { text: 'again' }, { quotedId: first });
    const { contextInfo } = answer.extendedTextMessage as { contextInfo: Record<string, unknown> };
    assert.deepEqual(contextInfo.quotedMessage, { conversation: 'hello' });
    await send('edit', { text: 'hello there' }, { target });
    const forward = await send('text', {}, { source: { chat: WRITTEN, id: first } });
    assert.equal(forward.conversation, 'hello there');
    await send('delete', {}, { target });
  });

  it('gets a message again when it could not open it', async () => {
    friend.phone.restart(`${own.number}.${own.device.id}`);
    const id = await sendText(recorded, WRITTEN, 'once more');
    const received = await friend.message(id, WAIT_MS);
    assert.deepEqual([received.wire.conversation, received.timesSeen], ['once more', 1]);
    assert.ok(friend.phone.failures.some((failure) => failure.id === id));
  });

  it('is found by the next session, too', async () => {
    await recorded.session.close();
    kept.epoch += 1;
    recorded = await openRecorded(driver, kept);
    await connected(recorded);
    const id = await sendText(recorded, WRITTEN, 'after a restart');
    assert.equal((await friend.message(id, WAIT_MS)).wire.conversation, 'after a restart');
  });

  it('is another one than the account that has all its digits', async () => {
    const other = network.phone('5584977776666');
    const id = await sendText(recorded, other.jid, 'nine digits');
    assert.equal((await other.message(id, WAIT_MS)).wire.conversation, 'nine digits');
  });
});
