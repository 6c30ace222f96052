import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { deflateSync } from 'node:zlib';
import { READS_MAX } from '@posthorn/network/whatsapp/bounded-decode.ts';
import { UNPACKED_MAX_BYTES } from '@posthorn/network/whatsapp/bounded-inflate.ts';
import { sealWith } from '@posthorn/network/whatsapp/wire/secrets.ts';
import { nested, writeFields } from '../support/whatsapp/fields.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import { node, raw, type WireMessage } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { seconds } from '../support/whatsapp/world.ts';

/** Names that do not fit into an index. */
const LONG = randomBytes(4_000).toString('hex');
const WITH_NUL = 'A\u0000B';

/**
 * A stranger's messages cannot hurt others: the messages behind them arrive, in this session and in the next one. An
 * uncaught error would end the process with all its sessions; here it fails the test.
 */
describe('the messages behind hostile ones arrive:', () => {
  let account: BesiegedAccount;
  let stranger: PhoneHandle;
  before(async () => {
    account = await startBesieged();
    stranger = account.newPhone();
    await account.arrives(stranger.text(account.own, 'Hello'));
  });
  after(() => account?.close());

  const send = (message: WireMessage, id?: string) => stranger.send(account.own, message, id ? { id } : {});

  async function nextArrives(): Promise<void> {
    await account.arrives(stranger.text(account.own, 'Behind it'));
  }

  function vote(pollId: string, secret: Buffer, bytes: Uint8Array): WireMessage {
    const of = { use: 'Poll Vote', id: pollId, author: stranger.jid, sender: stranger.jid, secret } as const;
    const pollCreationMessageKey = { remoteJid: account.own.jid, fromMe: true, id: pollId };
    return { pollUpdateMessage: { pollCreationMessageKey, vote: sealWith(of, bytes) } };
  }

  it('behind a vote that is sealed correctly and has unreadable content', async () => {
    const messageSecret = randomBytes(32);
    const options = [{ optionName: 'Yes' }, { optionName: 'No' }];
    const pollId = send({
      pollCreationMessage: { name: 'Well?', options, selectableOptionsCount: 1 },
      messageContextInfo: { messageSecret },
    });
    // A field of 127 bytes, none of which follow.
    send(vote(pollId, messageSecret, Buffer.of(0x0a, 0x7f)));
    await nextArrives();
  });

  it('behind a vote in a message that is no poll and has a secret', async () => {
    const messageSecret = randomBytes(32);
    const id = send({ conversation: 'No poll', messageContextInfo: { messageSecret } });
    send(vote(id, messageSecret, Buffer.alloc(0)));
    await nextArrives();
  });

  it('behind a vote in a poll with more options than there can be', async () => {
    const messageSecret = randomBytes(32);
    const options = Array.from({ length: 10_000 }, (_, at) => ({ optionName: `${at}` }));
    const pollId = send({ pollCreationMessage: { options }, messageContextInfo: { messageSecret } });
    send(vote(pollId, messageSecret, Buffer.alloc(0)));
    await nextArrives();
    const { inbound } = account.recorded;
    assert.ok(!inbound.some(({ content }) => content.poll_message_id === pollId));
  });

  it('behind votes, edits and deletions that name messages by ids that the database refuses', async () => {
    for (const id of [WITH_NUL, LONG, '']) {
      send(vote(id, randomBytes(32), Buffer.alloc(0)));
      send({ protocolMessage: { type: 'REVOKE', key: { id } } });
      const editedMessage = { conversation: 'New words' };
      send({ protocolMessage: { type: 'MESSAGE_EDIT', key: { id }, editedMessage } });
    }
    await nextArrives();
    assert.deepEqual(account.recorded.changes, []);
  });

  it('behind messages with such an id', async () => {
    send({ conversation: 'Long' }, LONG);
    send({ conversation: 'NUL' }, WITH_NUL);
    await nextArrives();
  });

  it('behind the sender key of a group with such an id', async () => {
    const { distribution } = stranger.phone.sealForChat('123456@g.us', [], Buffer.from('x'));
    for (const groupId of [WITH_NUL, LONG]) {
      const key = { groupId, axolotlSenderKeyDistributionMessage: distribution };
      send({ conversation: 'With a key', senderKeyDistributionMessage: key });
    }
    await nextArrives();
  });

  it('behind reactions and votes that name nothing', async () => {
    send({ reactionMessage: { text: '👍' } });
    send({ pollUpdateMessage: { vote: { encPayload: Buffer.alloc(20), encIv: Buffer.alloc(12) } } });
    send({ protocolMessage: { type: 'REVOKE' } });
    send({ encEventResponseMessage: { encPayload: Buffer.alloc(20), encIv: Buffer.alloc(12) } });
    await nextArrives();
  });

  it('behind messages nested in each other, deeper and deeper until they cannot be read', async () => {
    for (let depth = 250; depth <= 8_000; depth += 250) send(raw(nested(depth)));
    await nextArrives();
    // The next session begins with the messages that this one has not recorded.
    await account.recorded.session.close();
    await account.open();
    await nextArrives();
  });

  it('behind no message at all', async () => {
    send(raw(randomBytes(2_000)));
    send(raw(Buffer.alloc(0)));
    await nextArrives();
  });

  it('behind so many unreadable messages that a quarter of a second for each would be too long', async () => {
    const other = account.newPhone();
    await account.arrives(other.text(account.own, 'Hello'));
    for (let count = 0; count < 200; count += 1) send(raw(randomBytes(2_000)));
    await account.arrives(other.text(account.own, 'Behind them'));
    await nextArrives();
  });

  it('behind typing without a state', async () => {
    const { device } = account.own;
    device.tell(node('chatstate', { from: stranger.jid }, []));
    device.tell(node('presence', { from: stranger.jid, last: 'soon' }));
    await nextArrives();
  });

  it('behind receipts of kinds such as `constructor`, which are not told', async () => {
    const { device } = account.own;
    for (const type of ['constructor', 'toString', '__proto__']) {
      const id = randomBytes(8).toString('hex');
      // The encoder writes nothing for such names.
      const other = 'x'.repeat(type.length);
      const receipt = node('receipt', { from: stranger.jid, id, type: other, t: seconds() });
      const bytes = Buffer.from(account.network.world.coding.encodeNode(receipt));
      bytes.write(type, bytes.indexOf(other));
      device.pending.push(receipt);
      device.connection!.sendSealed(bytes);
      await until(() => !device.pending.includes(receipt), 'the confirmation');
      assert.deepEqual(
        account.recorded.receipts.filter(({ networkId }) => networkId === id),
        [],
      );
    }
    await nextArrives();
  });

  it('behind calls without a caller or an id, and a call of a group is no message', async () => {
    const { device } = account.own;
    const call = (what: string, attrs: Record<string, string>) =>
      device.deliver(
        node('call', { from: stranger.jid, id: randomBytes(8).toString('hex'), t: seconds() }, [
          node(what, attrs),
        ]),
      );
    for (const what of ['offer', 'terminate']) {
      call(what, {});
      call(what, { 'call-id': 'C1' });
      call(what, { 'call-creator': stranger.jid, 'group-jid': '123456@g.us' });
    }
    call('offer', { 'call-id': 'C2', 'call-creator': stranger.jid, 'group-jid': '123456@g.us' });
    await nextArrives();
    const { inbound } = account.recorded;
    assert.ok(!inbound.some(({ networkId }) => ['C1', 'C2'].includes(networkId)));
  });

  it('behind a message that the library drops, whose stored copy is removed after a while', async () => {
    const marker = randomBytes(16).toString('hex');
    const held = async () => {
      const rows = await account.kept.keys.read('plain');
      return [...rows.values()].filter((row) => textsOf(row).some((text) => text.includes(marker)));
    };
    const id = send({ reactionMessage: { text: marker } });
    await nextArrives();
    await until(() => account.own.device.pending.every(({ attrs }) => attrs.id !== id), 'it is confirmed');
    assert.equal((await held()).length, 1);
    // It is given up, and then kept for as long as recorded messages.
    for (let time = 0; time < 2; time += 1) {
      account.pass(6 * 60_000);
      await nextArrives();
    }
    assert.equal((await held()).length, 0);
  });

  it('behind small histories that unpack to too many bytes or parts', async () => {
    // A field that no history has, full of zeros.
    const large = deflateSync(writeFields([[999, Buffer.alloc(UNPACKED_MAX_BYTES + 1)]]));
    const many = deflateSync(emptyParts(READS_MAX / 2 + 1));
    for (const packed of [large, many]) assert.ok(packed.length < 1_000_000);
    const told = account.recorded.history.length;
    const about = { syncType: 'RECENT', chunkOrder: 2, progress: 50 };
    const payloads = [
      { initialHistBootstrapInlinePayload: large },
      { initialHistBootstrapInlinePayload: many },
      { initialHistBootstrapInlinePayload: deflateSync(Buffer.alloc(0)) },
    ];
    for (const payload of payloads) {
      const historySyncNotification = { ...about, ...payload };
      account.own.send(account.own, {
        protocolMessage: { type: 'HISTORY_SYNC_NOTIFICATION', historySyncNotification },
      });
    }
    await until(() => account.recorded.history.length > told, 'the history that is none too large');
    await nextArrives();
    assert.equal(account.recorded.history.length, told + 1);
  });

  it('behind all of these once more, in the next session', async () => {
    await account.recorded.session.close();
    await account.open();
    await nextArrives();
  });
});

/** The stored plain texts of a decrypted message. */
function textsOf(row: unknown): string[] {
  const { bytes } = row as { bytes: { $bytes: string } };
  return [Buffer.from(bytes.$bytes, 'base64').toString('latin1')];
}

/** A history with this many empty conversations. */
function emptyParts(count: number): Buffer {
  return Buffer.alloc(2 * count, Buffer.of((2 << 3) | 2, 0));
}
