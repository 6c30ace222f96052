import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { tellFigure } from '../support/figures.ts';
import {
  type Kept,
  newKept,
  newNumber,
  openRecorded,
  pair,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import {
  brokenFrame,
  type HostileFrame,
  randomOf,
  sealedFrame,
  stanzasOf,
} from '../support/whatsapp/hostile-frames.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { startNetworkAndDriver } from '../support/whatsapp/network-driver.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const FRAMES = 10_000;
/** Each of these ends the session, and costs a login. */
const BROKEN = 50;
const BATCH = 100;

interface Account {
  phone: PhoneHandle;
  kept: Kept;
  recorded: Recorded;
  errors: string[];
}

/** Uncaught errors fail the test by themselves, as they would end a worker's process. */
describe('hostile frames hurt only the session that gets them:', () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let besieged: Account;
  let other: Account;
  before(async () => {
    ({ network, driver } = await startNetworkAndDriver());
    besieged = await newAccount();
    other = await newAccount();
  });
  after(async () => {
    await besieged?.recorded.session.close();
    await other?.recorded.session.close();
    await network?.close();
  });

  async function newAccount(): Promise<Account> {
    const account: Account = { phone: network.phone(newNumber()), kept: newKept(), errors: [] } as never;
    await open(account);
    await pair(account.recorded, account.phone);
    return account;
  }

  async function open(account: Account): Promise<void> {
    const recorded = await openRecorded(driver, account.kept, {
      sink: {
        disconnected(reason, error) {
          recorded.ended.push(reason);
          if (error) account.errors.push(error);
        },
      },
    });
    account.recorded = recorded;
  }

  /** The next session, once this one has ended. */
  async function reopen(account: Account): Promise<void> {
    for (;;) {
      await open(account);
      const { recorded } = account;
      const { device } = account.phone;
      await until(
        () => recorded.ended.length > 0 || (recorded.connected > 0 && device.isCaughtUp),
        'a login',
      );
      if (recorded.ended.length === 0) return;
    }
  }

  async function receives(account: Account): Promise<void> {
    const id = other.phone.text(account.phone, 'Behind it');
    for (;;) {
      const { recorded } = account;
      await until(
        () => recorded.ended.length > 0 || recorded.inbound.some(({ networkId }) => networkId === id),
        'what came behind it',
      );
      if (recorded.ended.length === 0) return;
      await reopen(account);
    }
  }

  it('each unreadable frame ends the session with a reason, and the next session gets the messages behind it', async () => {
    const random = randomOf(1);
    const stanzas = stanzasOf(besieged.phone, other.phone);
    const seen = new Set<string>();
    while (seen.size < 7) {
      const frame = brokenFrame(random, network.world.coding, stanzas);
      if (seen.has(frame.kind)) continue;
      seen.add(frame.kind);
      besieged.errors.length = 0;
      frame.send(besieged.phone.device.connection!);
      await until(() => besieged.recorded.ended.length > 0, `the end by a frame: ${frame.kind}`);
      assert.deepEqual(besieged.recorded.ended, ['failed']);
      assert.match(besieged.errors.join(), /cannot be read/);
      await reopen(besieged);
      await receives(besieged);
    }
  });

  it('a stanza that cannot be decoded ends two sessions, and is then passed over', async () => {
    const unknown = [Buffer.of(0, 1, 2, 3), Buffer.of(2, 0x78, 0, 0), Buffer.alloc(0), Buffer.of(0)];
    for (const [at, plain] of [...unknown, ...unknown].entries()) {
      besieged.phone.device.connection!.sendSealed(plain);
      if (at < 2) {
        await until(() => besieged.recorded.ended.length > 0, 'the end of the session');
        assert.deepEqual(besieged.recorded.ended, ['failed']);
        await reopen(besieged);
      }
      await receives(besieged);
      assert.deepEqual(besieged.recorded.ended, []);
    }
  });

  it('another session sends and receives during 10,000 mutated and random frames', async () => {
    const seed = randomInt(2 ** 31);
    const random = randomOf(seed);
    const startedAt = performance.now();
    const friend = network.phone(newNumber());
    const stanzas = stanzasOf(besieged.phone, friend);
    const ledger = { sent: [] as string[], toCome: [] as string[] };
    const over = new AbortController();
    const neighbour = (async () => {
      while (!over.signal.aborted) {
        ledger.toCome.push(friend.text(other.phone, `In ${ledger.toCome.length}`));
        ledger.sent.push(await sendText(other.recorded, friend.jid, `Out ${ledger.sent.length}`));
        await delay(20);
      }
    })();
    const kinds = new Map<string, number>();
    let logins = 0;
    for (let sent = 0; sent < FRAMES; ) {
      const frames: HostileFrame[] = [];
      while (frames.length < BATCH && sent + frames.length < FRAMES)
        frames.push(sealedFrame(random, network.world.coding, stanzas));
      if (sent % (FRAMES / BROKEN) === 0)
        frames[frames.length - 1] = brokenFrame(random, network.world.coding, stanzas);
      for (const frame of frames) {
        if (besieged.recorded.ended.length > 0 || !besieged.phone.device.connection) {
          await until(() => besieged.recorded.ended.length > 0, `an end, seed ${seed}`);
          logins += 1;
          await reopen(besieged);
        }
        frame.send(besieged.phone.device.connection!);
        if (frame.breaks) await until(() => besieged.recorded.ended.length > 0, `an end, seed ${seed}`);
        kinds.set(frame.kind, (kinds.get(frame.kind) ?? 0) + 1);
        sent += 1;
      }
      await delay(1);
    }
    over.abort();
    await neighbour;
    assert.deepEqual(other.recorded.ended, [], `seed ${seed}`);
    await until(
      () => ledger.toCome.every((id) => other.recorded.inbound.some(({ networkId }) => networkId === id)),
      `all that the other session was sent, seed ${seed}`,
    );
    for (const id of ledger.sent) await friend.message(id);
    assert.equal(new Set(ledger.sent).size, ledger.sent.length);
    await reopenIfEnded();
    await receives(besieged);
    const counts = JSON.stringify(Object.fromEntries(kinds));
    const beside = `${ledger.sent.length} texts out and ${ledger.toCome.length} in`;
    const what = `${FRAMES} hostile frames (${counts}), ${logins} logins, beside ${beside}`;
    tellFigure(what, (performance.now() - startedAt) / 1_000, { atMost: 30 }, 's');

    async function reopenIfEnded(): Promise<void> {
      if (besieged.recorded.ended.length > 0 || !besieged.phone.device.connection) {
        await until(() => besieged.recorded.ended.length > 0, 'an end');
        await reopen(besieged);
      }
    }
  });
});
