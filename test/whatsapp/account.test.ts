import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import { type NetworkDriver, SendRefused } from '@posthorn/core/network/driver.ts';
import {
  connected,
  newKept,
  newNumber,
  openPaired,
  openRecorded,
  outbound,
  type Recorded,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import type { WireMessage } from '../support/whatsapp/nodes.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { sendToSelf, welcome } from '../support/whatsapp/phone-outbox.ts';

const WAIT_MS = 30_000;

describe('an account of WhatsApp', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  const opened: Recorded[] = [];
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
  });
  after(async () => {
    await Promise.all(opened.map(({ session }) => session.close()));
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  async function pair(own: PhoneHandle): Promise<Recorded> {
    const recorded = await openPaired(driver, own);
    opened.push(recorded);
    return recorded;
  }

  const newPhone = (name?: string) => network.phone(newNumber(), name);
  const refused = (reason: string) => (err: unknown) => err instanceof SendRefused && err.reason === reason;

  it('tells the network no presence without a name or a type', async () => {
    const own = newPhone('Ann');
    const recorded = await pair(own);
    await recorded.session.send(outbound(newPhone().jid, 'text', { text: 'Hello' }));
    assert.equal(own.device.emptyPresences, 0);
  });

  it('that no phone has confirmed yet is logged out without waiting for a login', async () => {
    const recorded = await openRecorded(driver, newKept());
    opened.push(recorded);
    await until(() => recorded.qrs.at(-1), 'a QR code');
    const leaving = recorded.session.logout().then(
      () => 'logged out',
      () => 'nothing to log out of',
    );
    // A login gets 10 seconds.
    const waited = delay(8_000, 'still waiting', { ref: false });
    assert.equal(await Promise.race([leaving, waited]), 'nothing to log out of');
  });

  it('hands over its chats as the phone has them, by the numbers behind anonymous ids', async () => {
    const [own, ada, bob] = [newPhone(), newPhone('Ada'), newPhone('Bob')];
    const at = (day: number) => new Date(Date.UTC(2026, 0, day));
    const until2100 = Date.UTC(2100, 0, 1);
    const [question, , answer] = own.remember(
      ada,
      [
        { text: 'Are you there?', fromMe: false, at: at(1) },
        { text: 'Hello?', fromMe: false, at: at(1) },
        { text: 'Yes', fromMe: true, at: at(3) },
      ],
      {
        name: 'Ada Lovelace',
        archived: true,
        pinned: 1_700_000_000,
        muteEndTime: until2100 / 1_000,
        unreadCount: 2,
      },
    );
    // A number without a sign, which -1 is the largest of.
    own.remember(bob, [{ text: 'Hidden', fromMe: false, at: at(2) }], {
      muteEndTime: String(2n ** 64n - 1n),
    });
    const [, hidden] = own.phone.history.conversations as Record<string, unknown>[];
    Object.assign(hidden!, { id: bob.lid, pnJid: bob.jid });
    const [{ message }] = hidden!.messages as [{ message: { key: { remoteJid: string } } }];
    message.key.remoteJid = bob.lid;

    const recorded = await pair(own);
    const batch = await until(() => recorded.history.at(-1), 'the history', WAIT_MS);
    assert.deepEqual([batch.isLast, batch.progress], [true, 100]);
    const plain = { unreadCount: 0, archived: false, pinned: false, mutedUntil: 0 };
    assert.deepEqual(
      batch.chats.map(({ chat, name, ...rest }) => [chat, rest]),
      [
        [ada.jid, { unreadCount: 2, archived: true, pinned: true, mutedUntil: until2100 }],
        [bob.jid, plain],
      ],
    );
    assert.equal(batch.chats[0]?.name, 'Ada Lovelace');
    assert.deepEqual(batch.lids, [{ lid: bob.lid, phone: bob.number }]);
    assert.deepEqual(
      batch.messages.map(({ chat, from, fromMe, content, at: sentAt, status }) => [
        ...[chat, from, fromMe, content.text, sentAt.getTime(), status],
      ]),
      [
        [ada.jid, ada.jid, false, 'Are you there?', at(1).getTime(), undefined],
        [ada.jid, ada.jid, false, 'Hello?', at(1).getTime(), undefined],
        [bob.jid, bob.jid, false, 'Hidden', at(2).getTime(), undefined],
        [ada.jid, own.jid, true, 'Yes', at(3).getTime(), 'read'],
      ],
    );
    assert.deepEqual([recorded.inbound, recorded.changes, recorded.receipts], [[], [], []]);

    // Messages from before the pairing can be answered and forwarded like any other.
    const reply = outbound(ada.jid, 'text', { text: 'Still here' }, { quotedId: question! });
    await recorded.session.send(reply);
    const quoting = (await ada.message(reply.networkId)).wire.extendedTextMessage as Record<string, unknown>;
    const context = quoting.contextInfo as Record<string, unknown>;
    assert.deepEqual([context.stanzaId, context.participant], [question, ada.jid]);
    const edit = outbound(ada.jid, 'delete', {}, { target: { id: answer!, from_me: true } });
    await recorded.session.send(edit);
    await ada.message(edit.networkId);
  });

  // As OpenWA and mautrix-whatsapp know it: statuses come first, then chats, whose first part says less than 100 percent.
  for (const isAway of [false, true])
    it(`has handed over its history with the last chats${isAway ? ', also when all was waiting for it' : ''}`, async () => {
      const [own, ada] = [newPhone(), newPhone('Ada')];
      own.phone.isSlow = true;
      own.remember(ada, [{ text: 'Hello', fromMe: false, at: new Date(Date.UTC(2026, 0, 1)) }]);
      const kept = newKept();
      let recorded = await openPaired(driver, own, kept);
      if (isAway) await recorded.session.close();
      const give = (syncType: string, more: WireMessage = {}) => {
        const coder = network.world.coding.proto.HistorySync!;
        const packed = deflateSync(coder.encode(coder.fromObject({ syncType, ...more })).finish());
        sendToSelf(network.world, own.phone, own.device, {
          type: 'HISTORY_SYNC_NOTIFICATION',
          historySyncNotification: { syncType, initialHistBootstrapInlinePayload: packed },
        });
      };
      const names = { pushnames: [{ id: ada.jid, pushname: 'Ada' }] };
      give('INITIAL_STATUS_V3');
      give('PUSH_NAME', names);
      give('RECENT', { progress: 50, chunkOrder: 1 });
      welcome(network.world, own.phone, own.device);
      give('NON_BLOCKING_DATA');
      if (isAway) {
        recorded = await openRecorded(driver, kept);
        await connected(recorded);
      }
      opened.push(recorded);
      await until(() => recorded.history.length > 4, 'the parts', WAIT_MS);
      assert.deepEqual(
        recorded.history.map(({ isLast, messages }) => [isLast, messages.length]),
        [
          [false, 0],
          [false, 0],
          [false, 0],
          [true, 1],
          [false, 0],
        ],
      );
    });

  // As whatsmeow knows the network: it takes no such presence of an account without a name.
  it('is shown as online as soon as the phone has told its name, if that was asked before', async () => {
    const own = newPhone('Ann');
    own.phone.isSlow = true;
    const { session } = await pair(own);
    await session.act('presence_set', { state: 'available' });
    own.phone.isSlow = false;
    welcome(network.world, own.phone, own.device);
    await until(() => own.device.presence === 'available', 'the account is online', WAIT_MS);
    assert.equal(own.device.pushName, 'Ann');
  });

  // As whatsmeow knows the network: it writes a dash for the name of somebody without one.
  it('keeps its name and tells no other one when the network names nobody', async () => {
    const [own, friend] = [newPhone('Ann'), newPhone('-')];
    const recorded = await pair(own);
    await until(() => own.device.pushName === 'Ann', 'the name', WAIT_MS);
    own.phone.name = '-';
    const ids = [own.text(friend, 'From another device'), friend.text(own, 'Hello')];
    const told = () => recorded.inbound.filter(({ networkId }) => ids.includes(networkId));
    await until(() => told().length === ids.length, 'the messages', WAIT_MS);
    await recorded.session.send(outbound(friend.jid, 'text', { text: 'Behind them' }));
    assert.equal(own.device.pushName, 'Ann');
    assert.deepEqual(
      told().map(({ pushName }) => pushName),
      ['', ''],
    );
  });

  it('takes JPEG alone as its picture', async () => {
    const own = newPhone();
    const recorded = await pair(own);
    const png = Buffer.of(0x89, 0x50, 0x4e, 0x47).toString('base64');
    await assert.rejects(
      recorded.session.act('profile_update', { picture: png }),
      refused('picture_not_jpeg'),
    );
    assert.equal(own.phone.picture, null);
  });

  it('rejects a call under the name that the caller has for the network', async () => {
    const [own, friend] = [newPhone(), newPhone()];
    const recorded = await pair(own);
    const callId = friend.call(own, 'offer', undefined, true, 'lid');
    const call = await until(() => recorded.facts.find(({ kind }) => kind === 'call'), 'the call', WAIT_MS);
    assert.ok(call.kind === 'call');
    assert.deepEqual([call.from, call.video], [friend.jid, true]);
    await recorded.session.act('reject_call', { call_id: callId, from: friend.jid });
    await until(() => friend.phone.calls.get(callId) === 'rejected', 'it rings no more', WAIT_MS);
    // A call that is over is skipped.
    const late = friend.call(own, 'offer');
    friend.call(own, 'terminate', late);
    await recorded.session.act('reject_call', { call_id: late, from: friend.jid });
    assert.equal(friend.phone.calls.get(late), 'over');
  });

  it('uploads prekeys when the network says that few are left, and can be written to with them', async () => {
    const own = newPhone();
    const recorded = await pair(own);
    // By then the own phone has a prekey for the history, and needs no other.
    await until(() => recorded.history.length > 0, 'the history', WAIT_MS);
    const before = new Set(own.device.preKeys.map(({ id }) => id));
    network.control.runLowOnPreKeys(own.device, 2);
    const isNew = ({ id }: { id: number }) => !before.has(id);
    await until(() => own.device.preKeys.some(isNew), 'new prekeys', WAIT_MS);
    assert.equal(own.device.preKeys.filter(({ id }) => before.has(id)).length, 2);
    // Each of these begins a session with a prekey of its own: the two old ones, and a new one.
    const sent = [newPhone(), newPhone(), newPhone()].map((friend) =>
      friend.text(own, `From ${friend.number}`),
    );
    await until(
      () => sent.every((id) => recorded.inbound.some(({ networkId }) => networkId === id)),
      'all can be read',
      WAIT_MS,
    );
    assert.equal(own.device.preKeys.filter(({ id }) => before.has(id)).length, 0);
  });
});
