import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { NetworkDriver, SessionKey, SessionKeys } from '@posthorn/core/network/driver.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import {
  connected,
  type Kept,
  type MemoryKeys,
  newKept,
  openRecorded,
  outbound,
} from '../support/whatsapp/driver-harness.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';

const KILLS = process.env.POSTHORN_FULL === '1' ? 1_000 : 25;
/** A process is killed within this many updates of its keys; a round of messages makes about as many. */
const UPDATES = 24;
const silentLog = { debug() {}, warn() {}, error() {} };

/**
 * What a process that is killed leaves behind: all writes up to one, with or without that one. From then on nothing
 * that it does is stored, recorded or heard.
 */
class MortalKeys implements SessionKeys {
  readonly #kept: MemoryKeys;
  readonly #dieAt: { update: number; stores: boolean; connected: boolean };
  readonly #onDeath: () => void;
  #updates = 0;
  isDead = false;
  isConnected = false;

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
    this.#onDeath();
  }
}

/** What a dead process was waiting for fails. Not to answer would be truer; `killed-processes.test.ts` does that. */
async function never<T>(): Promise<T> {
  throw new Error('The process was killed');
}

describe(`a session that is killed ${KILLS} times at random updates of its keys`, () => {
  let network: WhatsAppNetwork;
  let driver: NetworkDriver;
  let me: PhoneHandle;
  let friend: PhoneHandle;
  let kept: Kept;
  before(async () => {
    network = await startWhatsAppNetwork();
    trustRoot(await loadLibrary(), network.trustedRoot);
    driver = createWhatsAppDriver({ url: network.url, ca: network.ca, log: silentLog });
    me = network.phone('999900000001');
    friend = network.phone('999900000002');
    kept = newKept();
    const first = await openRecorded(driver, kept);
    me.scan(await until(() => first.qrs.at(-1), 'a QR code'));
    await connected(first);
    await until(() => me.device.pending.length === 0, 'the history has come');
    await first.session.close();
  });
  after(() => network?.close());

  /** Ids that the network has said it took, that were handed over as received, and that phones have sent. */
  const taken = new Set<string>();
  const recorded = new Map<string, string>();
  const expected = new Map<string, string>();

  /** One life: a round of messages both ways, in which it is killed. Answers where, for whoever reads a failure. */
  async function live(nth: number): Promise<string> {
    // One in four while it logs in, the others while messages come and go.
    const dieAt = { update: randomInt(1, UPDATES), stores: randomInt(2) === 1, connected: randomInt(4) > 0 };
    const alive = new MortalKeys(kept.keys, dieAt, () => {
      // Nor can what was only about to connect.
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
    for (let round = 0; round < 3 && !alive.isDead; round += 1) {
      const text = `in ${nth}.${round}`;
      expected.set(friend.text(me, text), text);
      const id = networkIdOf(newId());
      const sending = life.session.send(
        outbound(friend.jid, 'text', { text: `out ${nth}.${round}` }, { networkId: id }),
      );
      const done = sending.then(
        () => !alive.isDead && taken.add(id),
        () => undefined,
      );
      let isDone = false;
      void done.then(() => {
        isDone = true;
      });
      await until(() => isDone || alive.isDead, `life ${nth} has sent`);
    }
    alive.die();
    // It hears nothing any more, and what it has in memory goes with it.
    await life.session.close();
    return `life ${nth}, killed ${dieAt.stores ? 'after' : 'before'} update ${dieAt.update}`;
  }

  it('is always readable, and no message is lost, unreadable or sent twice', async (t) => {
    for (let nth = 1; nth <= KILLS; nth += 1) {
      const where = await live(nth);
      assert.deepEqual(friend.phone.failures, [], where);
      assert.deepEqual(me.phone.failures, [], where);
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
    for (const id of taken) assert.equal(friend.messages.filter((message) => message.id === id).length, 1);
    assert.deepEqual(
      friend.messages.filter(({ timesSeen }) => timesSeen > 1).map(({ id }) => id),
      [],
    );
    assert.deepEqual(
      network.ledger.filter(({ timesSeen }) => timesSeen > 1).map(({ id }) => id),
      [],
    );
    t.diagnostic(
      `${KILLS} kills, ${expected.size} received, ${network.ledger.length} sent, of which ${taken.size} were known to be`,
    );
    await last.session.close();
    assert.deepEqual(network.problems, []);
  });
});
