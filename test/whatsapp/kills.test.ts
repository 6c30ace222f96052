import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type {
  NetworkDriver,
  OutboundMessage,
  SessionKey,
  SessionKeys,
} from '@posthorn/core/network/driver.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import {
  connected,
  type Kept,
  type MemoryKeys,
  newKept,
  openPaired,
  openRecorded,
  outbound,
  type Recorded,
} from '../support/whatsapp/driver-harness.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const KILLS = process.env.POSTHORN_FULL === '1' ? 1_000 : 25;
/** The most commits of keys before a life ends; a round of messages makes about as many. */
const UPDATES = 30;
/** Sends of a round, which are without an answer at the same time. */
const WINDOW = 8;
/** Messages of a round that arrive together. */
const BURST = 3;
/** The time to send of a life that is killed by the clock. */
const LIFE_MS = 250;
const SEND_TIMEOUT_MS = 1_000;
const NEVER = { update: Number.POSITIVE_INFINITY, stores: true, connected: true };
const STATUS = 'status@broadcast';
const silentLog = { debug() {}, warn() {}, error() {} };

/**
 * The keys that a killed process leaves behind: all writes up to one, with or without that one. Later work of the
 * process is not stored, recorded or heard.
 */
class MortalKeys implements SessionKeys {
  readonly #kept: MemoryKeys;
  readonly #dieAt: { update: number; stores: boolean; connected: boolean };
  readonly #onDeath: () => void;
  #updates = 0;
  isDead = false;
  isConnected = false;
  readonly #death = Promise.withResolvers<false>();
  readonly died = this.#death.promise;

  constructor(
    kept: MemoryKeys,
    dieAt: { update: number; stores: boolean; connected: boolean },
    onDeath: () => void,
  ) {
    this.#kept = kept;
    this.#dieAt = dieAt;
    this.#onDeath = onDeath;
  }

  read(kind: string, ids?: readonly string[]): Promise<Map<string, unknown>> {
    return this.isDead ? never() : this.#kept.read(kind, ids);
  }

  async write(changes: readonly SessionKey[]): Promise<void> {
    if (this.isDead) return never();
    if (this.isConnected || !this.#dieAt.connected) this.#updates += 1;
    if (this.#updates < this.#dieAt.update) return this.#kept.write(changes);
    if (this.#dieAt.stores) await this.#kept.write(changes);
    this.die();
    return never();
  }

  clear(): Promise<void> {
    return this.isDead ? never() : this.#kept.clear();
  }

  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#death.resolve(false);
    this.#onDeath();
  }
}

/** The waits of a dead process fail. No answer at all would be truer; `killed-processes.test.ts` does that. */
async function never<T>(): Promise<T> {
  throw new Error('The process was killed');
}

describe(`a session that is killed ${KILLS} times at random updates of its keys`, () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let me: PhoneHandle;
  let friend: PhoneHandle;
  let other: PhoneHandle;
  let group: string;
  let strangers = 0;
  let kept: Kept;
  before(async () => {
    network = await startWhatsAppNetwork();
    trustRoot(await loadLibrary(), network.trustedRoot);
    driver = createWhatsAppDriver({
      ...{ url: network.url, ca: network.ca, log: silentLog },
      sendTimeoutMs: SEND_TIMEOUT_MS,
    });
    me = network.phone('999900000001');
    friend = network.phone('999900000002');
    other = network.phone('999900000003');
    group = network.group(me, 'Rowers', [friend, other]).jid;
    kept = newKept();
    const first = await openPaired(driver, me, kept);
    await until(() => me.device.fetches > 0, 'the first fetch of the account');
    const contactAction = { fullName: 'Friend', saveOnPrimaryAddressbook: true };
    me.publish('critical_unblock_low', ['contact', friend.jid], { contactAction });
    await until(() => first.facts.some(({ kind }) => kind === 'contact'), 'the contact');
    await until(() => me.device.pending.length === 0, 'the history has come');
    await first.session.close();
  });
  after(() => network?.close());

  /** The messages that were handed over as received, and those that phones have sent. */
  const recorded = new Map<string, string>();
  const expected = new Map<string, string>();
  /** The messages that were accepted to be sent, in order, and the phones that should get them. */
  const accepted: { message: OutboundMessage; readers: PhoneHandle[] }[] = [];
  /** The part of them without an outcome yet: a queue, which outlives all lives. */
  const queue: OutboundMessage[] = [];

  function accept(words: string): void {
    const chats = [
      () => ({ to: friend.jid, readers: [friend, me] }),
      () => ({ to: group, readers: [friend, other, me] }),
      () => ({ to: STATUS, readers: [friend, me] }),
      () => {
        strangers += 1;
        const stranger = network.phone(`9999010${String(strangers).padStart(5, '0')}`);
        return { to: stranger.jid, readers: [stranger, me] };
      },
    ];
    const { to, readers } = chats[randomInt(chats.length)]!();
    const message = outbound(to, to === STATUS ? 'status_text' : 'text', { text: words });
    accepted.push({ message, readers });
    queue.push(message);
  }

  /** As the queue of an instance does: all at once, in order; messages without an outcome stay. */
  async function sendQueued({ session }: Recorded, alive: MortalKeys): Promise<void> {
    const outcomes = queue.slice(0, WINDOW).map((message) => session.send(message));
    for (const outcome of outcomes) outcome.catch(() => undefined);
    for (const outcome of outcomes) {
      const isTaken = await Promise.race([outcome.then(() => true), alive.died]).catch(() => false);
      if (!isTaken || alive.isDead) break;
      const { networkId } = queue.shift()!;
      // Not every owner lives long enough to confirm it.
      if (randomInt(8) > 0) session.recorded([networkId]);
    }
    await Promise.race([Promise.allSettled(outcomes), alive.died]);
  }

  /**
   * One life: a round of messages both ways, in which it is killed. Returns the place of the kill, to explain a
   * failure.
   */
  async function live(nth: number): Promise<string> {
    // One kill in four while it logs in, the others while messages come and go.
    const dieAt = {
      ...{ update: randomInt(1, UPDATES), stores: randomInt(2) === 1, connected: randomInt(4) > 0 },
      clock: randomInt(3) === 0,
      network: ([null, null, 'drop_before_ledger', 'drop_after_ledger', 'hold_ack'] as const)[randomInt(5)]!,
    };
    const alive = new MortalKeys(kept.keys, dieAt, () => {
      // A session that was about to connect cannot connect either.
      network.faults.failLogin = { reason: 503, times: Number.POSITIVE_INFINITY };
      network.control.dropAll();
    });
    network.faults.failLogin = null;
    const life = await openRecorded(
      driver,
      { ...kept, keys: alive as unknown as MemoryKeys },
      {
        sink: {
          async inbound(messages) {
            if (alive.isDead) return never();
            for (const { networkId, content } of messages) recorded.set(networkId, String(content.text));
          },
        },
      },
    );
    await until(
      () => life.connected > 0 || alive.isDead || life.ended.length > 0,
      `life ${nth} is connected`,
    );
    alive.isConnected = true;
    if (dieAt.clock) setTimeout(() => alive.die(), randomInt(LIFE_MS));
    if (dieAt.network) {
      let before = randomInt(WINDOW);
      network.faults.onMessage = () => (before-- === 0 ? dieAt.network : null);
    }
    for (let round = 0; round < 3 && !alive.isDead && life.ended.length === 0; round += 1) {
      for (let at = 0; at < BURST; at += 1) {
        const text = `in ${nth}.${round}.${at}`;
        expected.set(friend.text(me, text), text);
      }
      for (let at = 0; at < WINDOW / 2; at += 1) accept(`out ${nth}.${round}.${at}`);
      await sendQueued(life, alive);
    }
    network.faults.onMessage = null;
    alive.die();
    // It hears nothing any more, and its memory is lost with it.
    await life.session.close();
    return `life ${nth}, killed: ${JSON.stringify(dieAt)}`;
  }

  it('is always readable, and no message is lost, unreadable, out of order or decrypted twice', async (t) => {
    for (let nth = 1; nth <= KILLS; nth += 1) {
      const where = await live(nth);
      assert.deepEqual(friend.phone.failures, [], where);
      assert.deepEqual(me.phone.failures, [], where);
      assert.deepEqual(other.phone.failures, [], where);
      const again = [...friend.phone.receipts, ...me.phone.receipts].filter(({ type }) => type === 'retry');
      assert.deepEqual(again, [], where);
    }
    network.faults.failLogin = null;
    const last = await openRecorded(driver, kept, {
      sink: {
        async inbound(messages) {
          for (const { networkId, content } of messages) recorded.set(networkId, String(content.text));
        },
      },
    });
    await connected(last);
    await until(() => me.device.pending.length === 0, 'all that waited has come', 30_000);
    const missing = () => [...expected].filter(([id]) => !recorded.has(id)).map(([, text]) => text);
    await until(() => missing().length === 0, 'all was handed over', 30_000).catch(() => undefined);
    assert.deepEqual(missing(), [], 'these were lost');
    for (const [id, text] of expected) assert.equal(recorded.get(id), text);
    while (queue.length > 0) await sendQueued(last, new MortalKeys(kept.keys, NEVER, () => undefined));
    for (const reader of new Set(accepted.flatMap(({ readers }) => readers))) {
      const mine = accepted.filter(({ readers }) => readers.includes(reader));
      const ids = mine.map(({ message }) => message.networkId);
      await until(() => reader.messages.some(({ id }) => id === ids.at(-1)), `the last of ${reader.number}`);
      const shown = reader.messages.filter(({ id }) => ids.includes(id));
      assert.deepEqual(
        shown.map(({ id, timesSeen }) => [id, timesSeen]),
        ids.map((id) => [id, 1]),
        `all of ${reader.number}, in order, each decrypted once`,
      );
      assert.deepEqual(reader.phone.failures, []);
    }
    t.diagnostic(
      `${KILLS} kills, ${expected.size} received, ${accepted.length} sent, of which ` +
        `${network.ledger.filter(({ timesSeen }) => timesSeen > 1).length} reached the network more than once`,
    );
    await last.session.close();
    assert.deepEqual(network.problems, []);
  });
});
