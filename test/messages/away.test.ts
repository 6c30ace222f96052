import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { type LoggedEvent, type Sending, startSending, type TestInstance } from '../support/sending.ts';

const CHATS = 3;
const MESSAGES = 20;

describe('a message that arrived while an instance was away', () => {
  let sending: Sending;
  before(async () => {
    sending = await startSending();
  });
  after(() => sending.close());

  const stateOf = async (instance: TestInstance) => {
    const { rows } = await sending.api.parts.db.query<{ state: string }>(
      'SELECT state FROM instances WHERE id = $1',
      [instance.id],
    );
    return rows[0]!.state;
  };
  const ask = async (instance: TestInstance, action: string) => {
    const answer = await sending.call(instance, 'POST', `/${action}`);
    assert.equal(answer.status, 202, answer.text);
  };
  const received = async (instance: TestInstance) => {
    const { rows } = await sending.api.parts.db.query<LoggedEvent>(
      `SELECT event_id, type, data FROM events WHERE instance_id = $1 AND type = 'message.received' ORDER BY tx, id`,
      [instance.id],
    );
    return rows;
  };

  test('is received when the instance is back: once, in the order of its chat, with the time at which it was sent', async () => {
    const instance = await sending.connect();
    const phones = Array.from({ length: CHATS }, () => sending.newPhone());
    await ask(instance, 'disconnect');
    await waitFor(async () => (await stateOf(instance)) === 'DISCONNECTED');
    const sentAt = new Map<string, string>();
    for (let n = 0; n < MESSAGES; n++)
      for (const phone of phones) {
        const text = `${phone} ${n}`;
        const { time } = await sending.sandbox.post(`/phones/${phone}/messages`, {
          to: instance.phone,
          text,
        });
        sentAt.set(text, time);
      }
    assert.deepEqual(await received(instance), []);
    const awayUntil = new Date().toISOString();
    await ask(instance, 'connect');
    const events = await waitFor(
      async () => {
        const told = await received(instance);
        return told.length >= CHATS * MESSAGES && told;
      },
      60_000,
      { what: 'all that was sent is told' },
    );
    assert.equal(new Set(events.map(({ data }) => data.content.text)).size, CHATS * MESSAGES);
    assert.equal(events.length, CHATS * MESSAGES);
    for (const { data } of events) {
      assert.equal(data.timestamp, sentAt.get(data.content.text));
      assert.ok(data.timestamp < awayUntil);
    }
    for (const phone of phones)
      assert.deepEqual(
        events.filter(({ data }) => data.phone === phone).map(({ data }) => data.content.text),
        Array.from({ length: MESSAGES }, (_, n) => `${phone} ${n}`),
      );
    // The next connection brings nothing a second time.
    await ask(instance, 'restart');
    const phone = phones[0]!;
    await sending.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: 'afterwards' });
    await sending.event(instance, 'message.received', (data) => data.content.text === 'afterwards');
    assert.equal((await received(instance)).length, CHATS * MESSAGES + 1);
  });

  test('is received in the same way when the connection was cut again and again', async () => {
    const instance = await sending.connect();
    const phone = sending.newPhone();
    for (let n = 0; n < 40; n++) {
      if (n % 8 === 4) await sending.sandbox.post('/faults', { account: instance.phone, kind: 'drop' });
      await sending.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: `nth ${n}` });
    }
    await sending.event(instance, 'message.received', (data) => data.content.text === 'nth 39');
    const events = await received(instance);
    assert.deepEqual(
      events.map(({ data }) => data.content.text),
      Array.from({ length: 40 }, (_, n) => `nth ${n}`),
    );
  });
});
