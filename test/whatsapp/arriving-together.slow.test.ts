import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  InboundMessage,
  NetworkReceipt,
  SessionKey,
  SessionSink,
} from '@posthorn/core/network/driver.ts';
import {
  connected,
  type Kept,
  MemoryKeys,
  newKept,
  openPaired,
  openRecorded,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const COUNT = 60;
const COMMIT_MS = 400;

/** A database whose commits take long, or wait, or are refused, or whose answers are lost. */
class SlowKeys extends MemoryKeys {
  commits = 0;
  blocked: PromiseWithResolvers<void> | null = null;
  isAway = false;
  isUnheard = false;
  /** Reads of decrypted, unrecorded messages wait for this. */
  plainsBlocked: PromiseWithResolvers<void> | null = null;

  override async read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    if (kind === 'plain') await this.plainsBlocked?.promise;
    return super.read(kind, ids);
  }

  override async write(changes: readonly SessionKey[]): Promise<void> {
    await (this.blocked ? this.blocked.promise : delay(COMMIT_MS));
    if (this.isAway) throw new Error('the database is away');
    this.commits += 1;
    await super.write(changes);
    if (this.isUnheard) throw new Error('the connection to the database broke');
  }
}

describe('a group of messages that arrives together', () => {
  let network: WhatsAppNetwork;
  let driver: Awaited<ReturnType<typeof startNetworkAndDriver>>['driver'];
  let me: PhoneHandle;
  let friend: PhoneHandle;
  let session: Recorded;
  let keys: SlowKeys;
  let kept: Kept;
  /** Calls of the owner, each with its arguments. */
  const calls: { inbound: readonly InboundMessage[]; receipts: readonly NetworkReceipt[] }[] = [];

  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    me = network.phone('999700000001');
    friend = network.phone('999700000002');
    keys = new SlowKeys();
    kept = { ...newKept(), keys };
    session = await openPaired(driver, me, kept, { sink });
    await sendText(session, friend.jid, 'Hello');
    await arrived([friend.text(me, 'Hello')]);
    await isQuiet();
  });
  after(async () => {
    await session?.session.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  const sink: Partial<SessionSink> = {
    async inbound(inbound) {
      calls.push({ inbound, receipts: [] });
      await delay(COMMIT_MS);
    },
    async receipts(receipts) {
      calls.push({ inbound: [], receipts });
      await delay(COMMIT_MS);
    },
  };
  const open = () => openRecorded(driver, kept, { sink });

  const recorded = () => calls.flatMap(({ inbound }) => inbound.map(({ networkId }) => networkId));
  const arrived = (ids: readonly string[]) =>
    until(() => ids.every((id) => recorded().includes(id)), `${ids.length} messages are recorded`);
  const isQuiet = () => until(() => me.device.pending.length === 0, 'everything is acknowledged');
  const write = (texts: number) => Array.from({ length: texts }, (_, nth) => friend.text(me, `text ${nth}`));

  it('is stored in few commits and recorded in few calls, in order', async () => {
    calls.length = 0;
    const commitsBefore = keys.commits;
    const ids = write(COUNT);
    await arrived(ids);
    await isQuiet();
    assert.deepEqual(recorded(), ids);
    assert.ok(calls.length <= COUNT / 4, `${calls.length} calls for ${COUNT} messages`);
    const commits = keys.commits - commitsBefore;
    assert.ok(commits <= COUNT / 4, `${commits} commits for ${COUNT} messages`);
  });

  it('is not acknowledged before it is stored', async () => {
    keys.blocked = Promise.withResolvers<void>();
    const ids = write(COUNT);
    // By then all of it is decrypted and waits for the database.
    await delay(300);
    assert.deepEqual(
      me.device.pending.filter(({ tag }) => tag === 'message').map(({ attrs }) => attrs.id),
      ids,
    );
    keys.blocked.resolve();
    keys.blocked = null;
    await arrived(ids);
    await isQuiet();
  });

  it('is handed over with each edit and deletion behind its message', async () => {
    calls.length = 0;
    const [first, , third] = write(3);
    const change = (id: string, fields: object) => ({
      protocolMessage: { key: { id, fromMe: true }, ...fields },
    });
    friend.send(me, change(first!, { type: 'MESSAGE_EDIT', editedMessage: { conversation: 'better' } }));
    friend.send(me, change(third!, { type: 'REVOKE' }));
    const last = friend.text(me, 'last');
    await arrived([last]);
    assert.deepEqual(
      session.changes.map(({ kind, networkId }) => [kind, networkId]),
      [
        ['edited', first],
        ['deleted', third],
      ],
    );
    await isQuiet();
  });

  it('delays no message that is sent meanwhile, and its receipts are recorded together', async () => {
    calls.length = 0;
    const sent: Promise<string>[] = [];
    for (let nth = 0; nth < COUNT; nth += 1) sent.push(sendText(session, friend.jid, `out ${nth}`));
    const incoming = write(COUNT);
    const ids = await Promise.all(sent);
    const received = () => calls.flatMap(({ receipts }) => receipts.map(({ networkId }) => networkId));
    await until(() => ids.every((id) => received().includes(id)), 'all receipts are recorded');
    await arrived(incoming);
    await isQuiet();
    assert.deepEqual(received().toSorted(), ids.toSorted(), 'each receipt once');
    const ofReceipts = calls.filter(({ receipts }) => receipts.length > 0);
    assert.ok(ofReceipts.length <= COUNT / 2, `${ofReceipts.length} calls for ${COUNT} receipts`);
    assert.deepEqual(friend.phone.failures, []);
  });

  it('comes again to the next session when it could not be stored, and is read there', async () => {
    calls.length = 0;
    keys.blocked = Promise.withResolvers<void>();
    const ids = write(COUNT);
    await delay(100);
    keys.isAway = true;
    keys.blocked.resolve();
    keys.blocked = null;
    await until(() => session.ended.length > 0, 'the session ends');
    assert.equal(me.device.pending.filter(({ tag }) => tag === 'message').length, COUNT);
    keys.isAway = false;
    calls.length = 0;
    session = await open();
    await connected(session);
    await arrived(ids);
    await isQuiet();
    // Messages that were recorded in the last minutes are handed over again, too.
    assert.deepEqual(
      recorded().filter((id) => ids.includes(id)),
      ids,
      'each of them once, in order',
    );
    assert.deepEqual(me.phone.failures, []);
    assert.deepEqual(
      friend.phone.receipts.filter(({ type }) => type === 'retry'),
      [],
      'nothing was asked for again',
    );
  });

  it('comes again when it was stored and not acknowledged, and is not decrypted a second time, however late the store is read', async () => {
    const group = network.group(me, 'Readers', [friend]).jid;
    await arrived([friend.text(group, 'Hello')]);
    await isQuiet();
    keys.isUnheard = true;
    const ids = [friend.text(me, 'one'), friend.text(group, 'two'), friend.text(group, 'three')];
    await until(() => session.ended.length > 0, 'the session ends');
    keys.isUnheard = false;
    calls.length = 0;
    keys.plainsBlocked = Promise.withResolvers<void>();
    session = await open();
    await connected(session);
    ids.push(friend.text(group, 'four'), friend.text(me, 'five'));
    // By then the network has repeated all of it.
    await delay(300);
    assert.deepEqual(
      me.device.pending.filter(({ tag }) => tag === 'message').map(({ attrs }) => attrs.id),
      ids,
      'nothing is answered before it is known what was opened',
    );
    keys.plainsBlocked.resolve();
    keys.plainsBlocked = null;
    await arrived(ids);
    await isQuiet();
    assert.deepEqual([...new Set(recorded().filter((id) => ids.includes(id)))], ids, 'in order');
    assert.deepEqual(
      friend.phone.receipts.filter(({ type }) => type === 'retry'),
      [],
      'nothing was asked for again',
    );
  });
});
