import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { settled } from '../labels/label-state.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

/** Whole with POSTHORN_FULL=1; otherwise a fifth of it. */
const FULL = process.env.POSTHORN_FULL === '1';
const MESSAGES = FULL ? 10_000 : 2_000;
const CUTS = FULL ? 50 : 10;
const CHATS = 100;
const WRITERS = 4;

let pipeline: Sending;
before(async () => {
  pipeline = await startSending();
});
after(() => pipeline.close());

test(`${MESSAGES} inbound messages over ${CHATS} chats with the connection cut ${CUTS} times: each stored once, each event once, in order in each chat, and the unread counts right`, async () => {
  const instance = await pipeline.connect();
  const phones = Array.from({ length: CHATS }, () => pipeline.newPhone());
  const written = new Map<string, string[]>(phones.map((phone) => [phone, []]));
  let count = 0;
  let cuts = 0;
  // Each phone belongs to one writer, which waits for the network to take a message before it writes the next one.
  const write = async (nth: number) => {
    for (let at = nth; at < MESSAGES; at += WRITERS) {
      const phone = phones[at % CHATS]!;
      const { id } = await pipeline.sandbox.post(`/phones/${phone}/messages`, {
        to: instance.phone,
        text: `${written.get(phone)!.length}`,
      });
      written.get(phone)!.push(id);
      count += 1;
    }
  };
  const cut = async () => {
    for (; cuts < CUTS; cuts += 1) {
      await waitFor(() => count >= (MESSAGES * cuts) / CUTS, 300_000);
      await connected(instance);
      const before = (await sessionOf(instance)).logins;
      await pipeline.sandbox.post('/faults', { kind: 'drop', at: 'now', instance: instance.id });
      // It may be back before anybody looks.
      await waitFor(async () => {
        const { live, logins } = await sessionOf(instance);
        return live === 0 || logins > before;
      });
    }
  };
  await Promise.all([...Array.from({ length: WRITERS }, (_, nth) => write(nth)), cut()]);
  await connected(instance);
  await settled(pipeline, instance);
  assert.ok((await sessionOf(instance)).logins > CUTS, `${CUTS} cuts, and a login after each`);

  await proveStoredInOrder(instance, written);
  const told = await pipeline.api.parts.db.query<{ chat: string; text: string }>(
    `SELECT data->>'chat' AS chat, data->'content'->>'text' AS text FROM events
     WHERE instance_id = $1 AND type = 'message.received' ORDER BY tx, id`,
    [instance.id],
  );
  assert.equal(told.rows.length, MESSAGES, 'message.received once a message');
  inOrder(told.rows, written);

  const perChat = new Map(phones.map((phone) => [phone, written.get(phone)!.length]));
  assert.deepEqual(await unreadCounts(instance), perChat);
  // Marked as read, and written to once more: when the mark is repeated after a cut, the newer message stays unread.
  for (const phone of phones.slice(0, 10)) {
    const read = await pipeline.call(instance, 'POST', `/chats/${phone}/read`, {});
    assert.equal(read.status, 200, read.text);
    await pipeline.sandbox.post(`/phones/${phone}/messages`, { to: instance.phone, text: 'more' });
    perChat.set(phone, 1);
  }
  await pipeline.sandbox.post('/faults', { kind: 'drop', at: 'now', instance: instance.id });
  await settled(pipeline, instance);
  assert.deepEqual(await unreadCounts(instance), perChat);
  console.log(`${MESSAGES} messages, ${CUTS} cuts: 0 lost, 0 doubled, 0 unread counts wrong`);
});

async function sessionOf({ phone }: TestInstance): Promise<{ live: number; logins: number }> {
  const { accounts } = await pipeline.sandbox.get('/sessions');
  return accounts.find((account: { phone: string }) => account.phone === phone);
}

async function connected(instance: TestInstance): Promise<void> {
  await waitFor(async () => (await sessionOf(instance)).live === 1, 60_000, { what: 'a session is live' });
}

async function proveStoredInOrder({ id }: TestInstance, written: Map<string, string[]>): Promise<void> {
  const stored = await pipeline.api.parts.db.query<{ chat: string; network_id: string; text: string }>(
    `SELECT chat_jid AS chat, network_id, content->>'text' AS text FROM messages
     WHERE instance_id = $1 AND direction = 'inbound' ORDER BY id`,
    [id],
  );
  const expected = new Set([...written.values()].flat());
  assert.equal(stored.rows.length, expected.size, 'none is stored twice');
  for (const { network_id } of stored.rows) expected.delete(network_id);
  assert.equal(expected.size, 0, 'none is lost');
  inOrder(stored.rows, written);
}

/** The texts of each chat count up from 0 to the last one. */
function inOrder(rows: readonly { chat: string; text: string }[], written: Map<string, string[]>): void {
  const texts = Map.groupBy(rows, ({ chat }) => chat);
  for (const [phone, ids] of written) {
    assert.deepEqual(
      texts.get(`${phone}@s.whatsapp.net`)?.map(({ text }) => text),
      ids.map((_, at) => String(at)),
    );
  }
}

async function unreadCounts(instance: TestInstance): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await pipeline.call(instance, 'GET', `/chats?limit=30${cursor && `&before=${cursor}`}`);
    for (const { phone, unread_count } of answer.body.data) found.set(phone, unread_count);
    cursor = answer.body.next_cursor;
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}
