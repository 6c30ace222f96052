/** Messages arrive in the order in which the network sends them, however long each takes to decrypt. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { deflateSync } from 'node:zlib';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { loadCoding } from '../support/whatsapp/nodes.ts';
import { memoryKeys, pairWhatsApp, reopenWhatsApp, startNetwork, until } from './whatsapp-harness.ts';

const TEXTS = 12;

let network: WhatsAppNetwork;
let numbers = 0;
before(async () => {
  network = await startNetwork();
});
after(() => network.close());

function newPhone() {
  numbers += 1;
  return network.phone(`55119${String(numbers).padStart(8, '0')}`);
}

/** Keys as in a database: each look-up takes a while, and the first ones take the longest. */
function slowKeys() {
  const keys = memoryKeys();
  const { read } = keys;
  let reads = 0;
  keys.read = async (kind, ids) => {
    reads += 1;
    await delay(kind === 'lid-mapping' ? Math.max(0, 60 - 5 * reads) : 1);
    return read(kind, ids);
  };
  const startAnew = () => {
    reads = 0;
  };
  return { keys, startAnew };
}

function numbered(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, nth) => `text ${from + nth}`);
}

for (const addressing of ['pn', 'lid'] as const) {
  for (const who of ['a contact', 'the own phone'] as const) {
    test(`messages of ${who}, whose other name is looked up, stay in order, by ${addressing}`, async (t) => {
      const [own, friend] = [newPhone(), newPhone()];
      const { keys, startAnew } = slowKeys();
      const instance = await pairWhatsApp(t, network, own, { keys });
      startAnew();
      for (const text of numbered(0, TEXTS)) {
        if (who === 'a contact') friend.text(own, text, { addressing });
        else own.text(friend, text, { addressing });
      }
      await until(() => instance.inbound.length === TEXTS, 'all');
      assert.deepEqual(
        instance.inbound.map(({ content }) => content.text),
        numbered(0, TEXTS),
      );
    });
  }
}

test('compressed and plain messages stay in order', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const instance = await pairWhatsApp(t, network, own);
  const coding = await loadCoding();
  const connection = own.device.connection!;
  let sent = 0;
  connection.send = (stanza) => {
    const plain = coding.encodeNode(stanza);
    const isPacked = stanza.tag === 'message' && sent++ % 2 === 0;
    connection.sendSealed(isPacked ? Buffer.concat([Buffer.of(2), deflateSync(plain.subarray(1))]) : plain);
  };
  const texts = numbered(0, TEXTS).map((text) => text.padEnd(60_000, ' and on'));
  for (const text of texts) friend.text(own, text);
  await until(() => instance.inbound.length === TEXTS, 'all');
  assert.deepEqual(
    instance.inbound.map(({ content }) => String(content.text).slice(0, 10)),
    texts.map((text) => text.slice(0, 10)),
  );
});

test('messages that waited for the session stay before those that come right behind them', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const { keys, startAnew } = slowKeys();
  const first = await pairWhatsApp(t, network, own, { keys });
  await first.session.close();
  for (const text of numbered(0, TEXTS)) friend.text(own, text);
  const { device } = own;
  const taking = device.taking.bind(device);
  device.taking = () => {
    taking();
    for (const text of numbered(TEXTS, 2 * TEXTS)) friend.text(own, text);
  };
  startAnew();
  const next = await reopenWhatsApp(t, network, first);
  await until(() => next.inbound.length === 2 * TEXTS, 'all');
  assert.deepEqual(
    next.inbound.map(({ content }) => content.text),
    numbered(0, 2 * TEXTS),
  );
});

test('messages that were decrypted and not recorded before stay in order', async (t) => {
  const [own, friend] = [newPhone(), newPhone()];
  const dies = await pairWhatsApp(t, network, own, {
    sink: {
      async inbound() {
        throw new Error('the database is away');
      },
    },
  });
  const ids = numbered(0, TEXTS).map((text) => friend.text(own, text));
  const stored = () => [...dies.keys.rows].filter(([row]) => row.startsWith('plain\n'));
  const isStored = (id: string) => stored().some(([, value]) => value.includes(id));
  await until(() => ids.every(isStored), 'the plain texts in the store');
  await dies.session.close();
  // A database returns rows in an order of its own.
  const rows = stored().toSorted(([one], [other]) => (one < other ? -1 : 1));
  for (const [row] of rows) dies.keys.rows.delete(row);
  for (const [row, value] of rows) dies.keys.rows.set(row, value);
  const next = await reopenWhatsApp(t, network, dies);
  await until(() => next.inbound.length === TEXTS, 'all');
  assert.deepEqual(
    next.inbound.map(({ content }) => content.text),
    numbered(0, TEXTS),
  );
});
