import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Lease } from '@posthorn/core/instances/lock-leases.ts';
import { recordLids } from '@posthorn/core/lids/record-lids.ts';
import type { NetworkDriver } from '@posthorn/core/network/driver.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const HELD: ReadonlySet<string> = new Set(['chat_read', 'contact_block']);
let gate = Promise.withResolvers<void>();
let asked = 0;
let pipeline: Sending;
before(async () => {
  pipeline = await startSending({ held: { around: holdingAnswers, releaseAll: () => gate.resolve() } });
});
after(() => pipeline.close());

/** The sandbox: its answers wait for the gate, and it tells nothing of chats and contacts, as official numbers do. */
function holdingAnswers(driver: NetworkDriver): NetworkDriver {
  return {
    ...driver,
    async open(request, sink) {
      const facts: typeof sink.facts = (told) =>
        sink.facts(told.filter(({ kind }) => kind !== 'chat' && kind !== 'blocked'));
      const session = await driver.open(request, { ...sink, facts });
      return {
        ...session,
        async act(op, args) {
          if (!HELD.has(op)) return session.act(op, args);
          asked += 1;
          await gate.promise;
          return { revision: 1_000 } as never;
        },
      };
    },
  };
}

/** Makes a change, and learns the phone behind the id before the network has answered. */
async function changeWhileLearning(
  instance: TestInstance,
  { lid, phone, path, body }: { lid: string; phone: string; path: string; body?: unknown },
) {
  gate = Promise.withResolvers();
  const before = asked;
  const changing = pipeline.call(instance, 'POST', path, body);
  await waitFor(() => asked > before);
  const { parts } = pipeline.api;
  const { rows } = await parts.db.query<Lease>(
    'SELECT s.shard, s.epoch FROM instances i JOIN shards s ON s.shard = i.shard WHERE i.id = $1',
    [instance.id],
  );
  const scope = { companyId: pipeline.company.companyId, instanceId: instance.id, lease: rows[0]! };
  await recordLids(parts, scope, [{ lid, phone }]);
  gate.resolve();
  return changing;
}

test('a chat that is read while its phone is learnt is read as the chat of that phone', async () => {
  const instance = await pipeline.connect();
  const [lid, phone] = ['150000000000999@lid', '5531987654321'];
  await pipeline.api.parts.db.query(
    `INSERT INTO chats (instance_id, company_id, chat_jid, unread_count, active_at, updated_at)
     VALUES ($1, $2, $3, 2, now(), now())`,
    [instance.id, pipeline.company.companyId, lid],
  );
  const path = `/chats/${lid}/read`;
  const read = await changeWhileLearning(instance, { lid, phone, path, body: { read: true } });
  assert.deepEqual(
    [read.status, read.body.chat_jid, read.body.unread_count],
    [200, `${phone}@s.whatsapp.net`, 0],
    read.text,
  );
});

test('a contact who is blocked while the phone is learnt is the contact of that phone', async () => {
  const instance = await pipeline.connect();
  const [lid, phone] = ['150000000000998@lid', '5541987654321'];
  const path = `/contacts/${lid}/block`;
  const blocked = await changeWhileLearning(instance, { lid, phone, path });
  const jid = `${phone}@s.whatsapp.net`;
  assert.deepEqual([blocked.status, blocked.body], [200, { jid, blocked: true }], blocked.text);
  const { body } = await pipeline.call(instance, 'GET', '/contacts');
  assert.deepEqual(
    body.data.map((contact: { jid: string; blocked: boolean }) => [contact.jid, contact.blocked]),
    [[jid, true]],
  );
});
