import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type Paired, pairAll, useWhatsAppSystem } from '../support/whatsapp/paired-system.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { hurtWhatsApp } from './hurt-whatsapp.ts';
import { createTerminator } from './hurt-workers.ts';
import { proveStoredOnce } from './inbound.ts';

const KILLS = sized(6, 12, 1_000);
const INSTANCES = 4;
/** The largest number of messages that are written at once. */
const BURST_MAX = 24;
const PAUSE_MS = 60;
/** One message of this many is a picture, which waits for its download together with its chat. */
const PICTURE_EACH = 20;
const PICTURE = randomBytes(20_000);
/** The most messages of an instance that may wait: the faults should hit them, but they must not pile up. */
const WAITING_MAX = 60;
const LAST_MS = 180_000;
const WHATS = ['process', 'connections', 'cuts', 'database', 'process', 'lease'] as const;

/** The messages written to an instance, in order: by the id of each message, its chat. */
type Written = Map<string, string>;

test(`${KILLS} kills of workers, connections, the database and leases while WhatsApp messages arrive in bursts: each message is stored once and causes one event, in order`, async (t) => {
  const { network, system, call, link } = await useWhatsAppSystem(t);
  const terminator = createTerminator(system.env.DATABASE_URL!);
  t.after(() => terminator.close());
  const phones = Array.from({ length: INSTANCES }, (_, nth) => network.phone(`551193333000${nth}`));
  const friends = ['5511944440000', '5511944440001'].map((number) => network.phone(number));
  const paired = await pairAll(call, phones);

  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const writing = paired.map((each, nth) => writeAll(network, each, { friends, nth }, stopping.signal));
  for (const each of writing) each.catch(() => stopping.abort());
  const kinds = await hurtWhatsApp({
    ...{ network, system, terminator, link, phones },
    ...{ kills: KILLS, whats: WHATS, signal: stopping.signal },
  });
  stopping.abort();
  const written = await Promise.all(writing);

  await waitFor(() => phones.every(({ device }) => messagesWaiting(device) === 0), LAST_MS, {
    what: 'the network has nothing left that is not acknowledged',
    everyMs: 200,
  });
  const expected = new Map(paired.map(({ id }, nth) => [id, [...written[nth]!.keys()]]));
  const total = [...expected.values()].reduce((sum, ids) => sum + ids.length, 0);
  // An acknowledged message is durable, and recorded a moment later.
  await waitFor(async () => (await receivedBy(system, paired)) >= total, LAST_MS, {
    what: `${total} messages are recorded`,
    everyMs: 200,
  }).catch(() => undefined);
  await proveStoredOnce(system, expected);
  for (const [nth, { id }] of paired.entries()) await proveOrder(system, id, written[nth]!);
  const asked = [...network.world.phones.values()].flatMap((phone) =>
    phone.receipts.filter(({ type }) => type === 'retry'),
  );
  assert.deepEqual(asked, [], 'each could be opened when it came');
  assert.deepEqual(network.problems, []);
  const pictures = await system.db.query<{ is: string; count: number }>(
    `SELECT coalesce(incomplete_reason, 'stored') AS is, count(*)::integer AS count
     FROM messages WHERE type = 'image' GROUP BY 1`,
  );
  t.diagnostic(`${total} received: 0 lost, 0 doubled; ${JSON.stringify([...kinds])}`);
  t.diagnostic(`pictures: ${JSON.stringify(pictures.rows)}`);
});

/** Bursts from two friends, a group, and a new person, in turn. */
async function writeAll(
  network: WhatsAppNetwork,
  { phone }: Paired,
  { friends, nth }: { friends: readonly PhoneHandle[]; nth: number },
  signal: AbortSignal,
): Promise<Written> {
  const group = network.group(phone, `Readers ${nth}`, friends).jid;
  const written: Written = new Map();
  for (let at = 0; !signal.aborted; at += 1) {
    const stranger = at % 4 === 3 ? network.phone(`55119${nth}5${String(at).padStart(6, '0')}`) : null;
    const from = stranger ?? friends[at % 2]!;
    const chat = at % 4 === 2 ? group : phone;
    const burst = randomInt(1, BURST_MAX + 1);
    for (let count = 0; count < burst; count += 1) {
      const id =
        randomInt(PICTURE_EACH) === 0
          ? from.file(chat, 'image', PICTURE, { mimetype: 'image/png' })
          : from.text(chat, `${nth}.${at}.${count}`);
      written.set(id, chat === group ? group : from.jid);
    }
    await delay(randomInt(PAUSE_MS));
    while (messagesWaiting(phone.device) > WAITING_MAX && !signal.aborted) await delay(PAUSE_MS);
  }
  return written;
}

function messagesWaiting({ pending }: PhoneHandle['device']): number {
  return pending.filter(({ tag }) => tag === 'message').length;
}

async function receivedBy(system: System, instances: readonly Paired[]): Promise<number> {
  const { rows } = await system.db.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM messages WHERE direction = 'inbound' AND instance_id = ANY ($1::uuid[])`,
    [instances.map(({ id }) => id)],
  );
  return rows[0]!.n;
}

/** The events of each chat's messages are in the order in which the messages were written. */
async function proveOrder(system: System, instanceId: string, written: Written): Promise<void> {
  const { rows } = await system.db.query<{ network_id: string }>(
    `SELECT m.network_id FROM events e JOIN messages m ON m.id::text = e.data->'message_ids'->>0
     WHERE e.type = 'message.received' AND e.instance_id = $1 ORDER BY e.tx, e.id`,
    [instanceId],
  );
  const told = Map.groupBy(
    rows.map(({ network_id: id }) => id),
    (id) => written.get(id),
  );
  const expected = Map.groupBy(written.keys(), (id) => written.get(id));
  for (const [chat, ids] of expected) assert.deepEqual(told.get(chat), ids, `the order of ${chat}`);
}
