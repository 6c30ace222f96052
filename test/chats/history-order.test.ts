import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import type { HistoryBatch } from '@posthorn/core/network/facts.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

/** More than two parts of the sandbox. */
const COUNT = 450;
const SECOND = new Date('2026-03-01T12:00:00Z');

/** The sandbox, with the history of a network that keeps seconds only. */
function retelling(retell: (batch: HistoryBatch) => HistoryBatch) {
  const around = (driver: NetworkDriver): NetworkDriver => ({
    ...driver,
    open: (request, sink) =>
      driver.open(request, { ...sink, history: (batch) => sink.history(retell(batch)) }),
  });
  return { around, releaseAll: () => {} };
}

const inOneSecond = (batch: HistoryBatch): HistoryBatch => ({
  ...batch,
  messages: batch.messages.map((message) => ({ ...message, at: SECOND })),
});

for (const [name, retell, expected] of [
  ['from the oldest part on', inOneSecond, (sent: string[]) => sent],
  [
    'from the newest part on',
    (batch: HistoryBatch) => ({ ...inOneSecond(batch), position: 1_000 - batch.position }),
    // Such a network would have sent last the messages that the sandbox sends in its first part.
    (sent: string[]) => [...sent.slice(400), ...sent.slice(200, 400), ...sent.slice(0, 200)],
  ],
] as const) {
  test(`${COUNT} messages of one second stay in order when they are sent ${name}`, async () => {
    const pipeline = await startSending({ sandbox: { autoPair: false }, held: retelling(retell) });
    try {
      const [own, ana] = [pipeline.newPhone(), pipeline.newPhone()];
      await pipeline.sandbox.post('/phones', { phone: own, auto_read: false });
      const sent: string[] = [];
      for (let n = 0; n < COUNT; n++) {
        const { id } = await pipeline.sandbox.post(`/phones/${ana}/messages`, { to: own, text: `n ${n}` });
        sent.push(id);
      }
      const instance = await pair(pipeline, own);
      await pipeline.event(instance, 'history.synced');
      const inOrder = expected(sent);
      assert.deepEqual(await listed(pipeline, instance), inOrder);
      const { body: chat } = await pipeline.call(instance, 'GET', `/chats/${ana}`);
      assert.equal(chat.last_message.preview, `n ${sent.indexOf(inOrder.at(-1)!)}`);
    } finally {
      await pipeline.close();
    }
  });
}

test('what is edited, deleted or read before its part of the history comes is so afterwards', async () => {
  const around = (driver: NetworkDriver): NetworkDriver => ({
    ...driver,
    open: (request, sink) =>
      driver.open(request, {
        ...sink,
        async history(batch) {
          for (const { networkId, chat, from, fromMe, content } of batch.messages) {
            if (fromMe) {
              await sink.receipts([{ networkId, chat, by: chat, kind: 'read', at: new Date() }]);
              continue;
            }
            const about = { networkId, chat, from, at: new Date() };
            const isEdit = content.text === 'edited';
            await sink.changes([
              isEdit ? { ...about, kind: 'edited', content: { text: 'new' } } : { ...about, kind: 'deleted' },
            ]);
          }
          await sink.history(batch);
        },
      }),
  });
  const pipeline = await startSending({
    sandbox: { autoPair: false },
    held: { around, releaseAll: () => {} },
  });
  try {
    const [own, ana] = [pipeline.newPhone(), pipeline.newPhone()];
    await pipeline.sandbox.post('/phones', { phone: own, auto_read: false });
    for (const text of ['edited', 'deleted'])
      await pipeline.sandbox.post(`/phones/${ana}/messages`, { to: own, text });
    await pipeline.sandbox.post('/phones', { phone: ana, auto_read: false });
    await pipeline.sandbox.post(`/phones/${own}/messages`, { to: ana, text: 'read' });
    const instance = await pair(pipeline, own);
    await pipeline.event(instance, 'message.edited');
    await pipeline.event(instance, 'message.deleted');
    await pipeline.event(instance, 'message.read');
    const { body } = await pipeline.call(instance, 'GET', '/messages');
    assert.deepEqual(
      body.data.map((message: { status: string; content: unknown }) => [message.status, message.content]),
      [
        ['read', { text: 'read' }],
        ['received', {}],
        ['received', { text: 'new' }],
      ],
    );
  } finally {
    await pipeline.close();
  }
});

async function pair(pipeline: Sending, phone: string): Promise<TestInstance> {
  const { db, bus } = pipeline.api.parts;
  const id = await seedInstance(db, pipeline.company.companyId, { state: 'CREATED', wanted: 'connected' });
  bus.notify('instance', id);
  const qr = await waitFor(async () => {
    const { rows } = await db.query<{ qr: string | null }>(
      'SELECT qr FROM instance_pairings WHERE instance_id = $1',
      [id],
    );
    return rows[0]?.qr;
  });
  await pipeline.sandbox.post('/pair', { qr, phone });
  return { id, phone, jid: `${phone}@s.whatsapp.net` };
}

/** The network's ids of all messages, oldest first. */
async function listed(pipeline: Sending, instance: TestInstance): Promise<string[]> {
  const found: string[] = [];
  let before = '';
  for (;;) {
    const { body } = await pipeline.call(instance, 'GET', `/messages?limit=200${before}`);
    found.push(...body.data.map((message: { network_id: string }) => message.network_id));
    if (!body.next_cursor) return found.toReversed();
    before = `&before=${body.next_cursor}`;
  }
}
