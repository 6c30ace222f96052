import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createHeldDriver } from '../support/held-driver.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const WINDOW = 8;
const SEND_TIMEOUT_MS = 3_000;

interface LedgerEntry {
  network_id: string;
  times_seen: number;
}

describe('sends of one instance that are with the network at the same time', () => {
  const held = createHeldDriver();
  let sending: Sending;
  before(async () => {
    sending = await startSending({ driver: { window: WINDOW, sendTimeoutMs: SEND_TIMEOUT_MS }, held });
  });
  after(() => sending.close());

  const ledgerOf = async (instance: TestInstance): Promise<LedgerEntry[]> =>
    (await sending.sandbox.get(`/ledger?from=${instance.phone}&limit=10000`)).entries;
  const fault = (instance: TestInstance, order: object) =>
    sending.sandbox.post('/faults', { account: instance.phone, ...order });

  /** Sends texts to one phone that is offline: no receipt proves a send before its answer. */
  async function sendTexts(instance: TestInstance, count: number): Promise<string[]> {
    const phone = sending.newPhone();
    await sending.sandbox.post('/phones', { phone, online: false });
    const ids: string[] = [];
    for (let i = 0; i < count; i += 1) {
      const sent = await sending.send(instance, '/messages/text', { to: phone, text: `text ${i}` });
      ids.push(sent.message_id);
    }
    return ids;
  }

  const networkIds = (ids: readonly string[]) => ids.map((id) => id.replaceAll('-', '').toUpperCase());

  async function eventsOfSends(instance: TestInstance): Promise<{ id: string; type: string }[]> {
    const { rows } = await sending.api.parts.db.query<{ id: string; type: string }>(
      `SELECT data->'message_ids'->>0 AS id, type FROM events
       WHERE instance_id = $1 AND (type = 'message.sent' OR type LIKE '%.delivery_failed') ORDER BY tx, id`,
      [instance.id],
    );
    return rows;
  }

  /** Asserts that the network has each once, in accept order, and that their events are in the same order. */
  async function assertInOrder(instance: TestInstance, ids: readonly string[]): Promise<void> {
    await waitFor(async () => (await eventsOfSends(instance)).length >= ids.length, 60_000, {
      what: 'every send has its event',
    });
    assert.deepEqual(
      (await eventsOfSends(instance)).map(({ id }) => id),
      ids,
    );
    assert.deepEqual(
      (await ledgerOf(instance)).map(({ network_id }) => network_id),
      networkIds(ids),
    );
  }

  test('are as many as the driver allows, and no more', async () => {
    const instance = await sending.connect();
    const { release } = held.hold(instance.id);
    const ids = await sendTexts(instance, WINDOW + 2);
    await waitFor(async () => (await ledgerOf(instance)).length >= WINDOW);
    // One send too many would arrive by then.
    await delay(300);
    assert.deepEqual(await eventsOfSends(instance), []);
    assert.equal((await ledgerOf(instance)).length, WINDOW);
    release();
    await assertInOrder(instance, ids);
    assert.ok((await ledgerOf(instance)).every(({ times_seen }) => times_seen === 1));
  });

  test('one that arrives meanwhile goes along at once', async () => {
    const instance = await sending.connect();
    const { release } = held.hold(instance.id);
    const first = await sendTexts(instance, 1);
    await waitFor(async () => (await ledgerOf(instance)).length === 1);
    const second = await sendTexts(instance, 1);
    await waitFor(async () => (await ledgerOf(instance)).length === 2);
    assert.deepEqual(await eventsOfSends(instance), [], 'the first has no answer yet');
    release();
    await assertInOrder(instance, [...first, ...second]);
  });

  test('one that is refused fails alone', async () => {
    const instance = await sending.connect();
    const [blocked] = [sending.newPhone()];
    await fault(instance, { kind: 'refuse', phone: blocked, reason: 'not_on_network' });
    await fault(instance, { kind: 'delay', delay_ms: 100 });
    const before = await sendTexts(instance, 3);
    const refused = await sending.send(instance, '/messages/text', { to: blocked, text: 'no' });
    const behind = await sendTexts(instance, 3);
    await waitFor(async () => (await eventsOfSends(instance)).length === 7);
    const events = await eventsOfSends(instance);
    assert.deepEqual(
      events.map(({ id }) => id),
      [...before, refused.message_id, ...behind],
    );
    assert.deepEqual(
      events.map(({ type }) => type),
      [...Array(3).fill('message.sent'), 'text.delivery_failed', ...Array(3).fill('message.sent')],
    );
    assert.deepEqual(
      (await ledgerOf(instance)).map(({ network_id }) => network_id),
      networkIds([...before, ...behind]),
    );
  });

  for (const at of ['before_ledger', 'after_ledger'] as const) {
    test(`include an unanswered one (${at}), which is sent again before later ones`, async () => {
      const instance = await sending.connect();
      await fault(instance, { kind: 'delay', delay_ms: 50, times: 3 });
      const ids = await sendTexts(instance, 2);
      await fault(instance, { kind: 'silence', at, times: 1 });
      ids.push(...(await sendTexts(instance, 12)));
      await assertInOrder(instance, ids);
    });
  }

  test('keep their order, each once, while connections are cut at every stage and answers fail to come', async () => {
    const instances = await Promise.all([1, 2, 3].map(() => sending.connect()));
    const COUNT = 60;
    const orders = [
      { kind: 'drop', at: 'before_ledger', nth: 17, times: 4 },
      { kind: 'drop', at: 'after_ledger', nth: 13, times: 4 },
      { kind: 'drop', at: 'after_ack', nth: 19, times: 4 },
      { kind: 'silence', at: 'before_ledger', times: 2 },
      { kind: 'delay', delay_ms: 20, times: 40 },
    ];
    const sent = await Promise.all(
      instances.map(async (instance) => {
        const ids: string[] = [];
        for (const order of orders) {
          await fault(instance, order);
          ids.push(...(await sendTexts(instance, COUNT / orders.length)));
          await delay(30);
        }
        return ids;
      }),
    );
    for (const [at, instance] of instances.entries()) await assertInOrder(instance, sent[at]!);
  });

  test('wait for earlier answers when they have media or typing, and later ones wait for them', async () => {
    const instance = await sending.connect({ humanize_enabled: false });
    await fault(instance, { kind: 'delay', delay_ms: 60, times: 8 });
    const phone = sending.newPhone();
    await sending.sandbox.post('/phones', { phone, online: false });
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const ids = await sendTexts(instance, 3);
    ids.push(
      (await sending.send(instance, '/messages/image', { to: phone, media_base64: png })).message_id,
      ...(await sendTexts(instance, 3)),
    );
    await assertInOrder(instance, ids);
  });

  test('are recorded when the worker stops in the middle of them', async () => {
    const own = await startSending({ driver: { window: WINDOW }, held });
    try {
      const instance = await own.connect();
      const { release } = held.hold(instance.id);
      const phone = own.newPhone();
      const ids: string[] = [];
      for (let i = 0; i < 4; i += 1)
        ids.push((await own.send(instance, '/messages/text', { to: phone, text: `text ${i}` })).message_id);
      await waitFor(async () => (await own.sandbox.get(`/ledger?from=${instance.phone}`)).total === 4);
      const stopped = own.worker.stop();
      release();
      await stopped;
      const { rows } = await own.api.parts.db.query<{ id: string; status: string }>(
        'SELECT id, status FROM messages WHERE id = ANY ($1::uuid[]) ORDER BY id',
        [ids],
      );
      assert.deepEqual(
        rows.map(({ status }) => status !== 'queued'),
        [true, true, true, true],
      );
    } finally {
      await own.close();
    }
  });
});
