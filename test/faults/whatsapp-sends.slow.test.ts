import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { networkIdOf } from '@posthorn/core/platform/ids.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import { type Call, type Paired, pairAll, useWhatsAppSystem } from '../support/whatsapp/paired-system.ts';
import { type PhoneHandle, until } from '../support/whatsapp/phone-handle.ts';
import { hurtWhatsApp } from './hurt-whatsapp.ts';
import { createTerminator } from './hurt-workers.ts';

const KILLS = sized(8, 20, 1_000);
const INSTANCES = 4;
/** The pause of each instance between two requests. */
const PAUSE_MS = 40;
/** The most messages of an instance that may wait: the faults should hit them, but they must not pile up. */
const WAITING_MAX = 40;
const LAST_MS = 180_000;

const WHATS = ['answers', 'connections', 'process', 'cuts', 'answers', 'database', 'lease'] as const;

/** The sends of one instance, in the order of the 202s. */
interface Sent {
  messageId: string;
  readers: readonly PhoneHandle[];
}

test(`${KILLS} kills of workers, connections, the database and leases while WhatsApp messages are sent: each device decrypts each message once, in order`, async (t) => {
  const { network, system, call, link } = await useWhatsAppSystem(t);
  const terminator = createTerminator(system.env.DATABASE_URL!);
  t.after(() => terminator.close());
  const friend = network.phone('5511900000000', 'Friend');
  const phones = Array.from({ length: INSTANCES }, (_, nth) => network.phone(`551191111000${nth}`));
  const paired = await pairAll(call, phones);
  await Promise.all(paired.map(({ phone }) => saveContact(phone, friend)));
  await waitFor(async () => {
    const { rows } = await system.db.query(
      `SELECT DISTINCT instance_id FROM session_keys WHERE kind = 'contact'`,
    );
    return rows.length === INSTANCES;
  }, LAST_MS);

  // Offline, so that no receipt proves the arrival of a message: those without an answer are repeated.
  friend.goOffline();
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const sending = paired.map((each, nth) => sendAll(network, call, each, { friend, nth }, stopping.signal));
  for (const each of sending) each.catch(() => stopping.abort());
  const kinds = await hurtWhatsApp({
    ...{ network, system, terminator, link, phones },
    ...{ kills: KILLS, whats: WHATS, signal: stopping.signal },
  });
  stopping.abort();
  const sent = await Promise.all(sending);

  await waitFor(
    async () => {
      const { rows } = await system.db.query('SELECT 1 FROM outbox LIMIT 1');
      return rows.length === 0;
    },
    LAST_MS,
    { what: 'everything has an outcome', everyMs: 200 },
  );
  friend.comeOnline();
  const { rows: failed } = await system.db.query(
    `SELECT id, failed_reason FROM messages WHERE direction = 'outbound' AND status = 'failed'`,
  );
  assert.deepEqual(failed, [], 'nothing failed, and no outcome is unknown');
  for (const [nth, { phone }] of paired.entries()) await proveOnce(phone, sent[nth]!);
  assert.deepEqual(network.problems, []);
  const repeated = network.ledger.filter(({ timesSeen }) => timesSeen > 1).length;
  t.diagnostic(
    `${network.ledger.length} messages, of which ${repeated} reached the network more than once; ${JSON.stringify([...kinds])}`,
  );
});

/** Saves a contact, because a status goes only to saved contacts. */
async function saveContact(phone: PhoneHandle, friend: PhoneHandle): Promise<void> {
  await until(() => phone.device.fetches > 0, 'the first fetch of the account');
  const contactAction = { fullName: 'Friend', saveOnPrimaryAddressbook: true };
  phone.publish('critical_unblock_low', ['contact', friend.jid], { contactAction });
}

/** Sends to a contact, a group, the statuses and to a new person, in turn; each request is repeated until its 202. */
async function sendAll(
  network: WhatsAppNetwork,
  call: Call,
  { id, phone }: Paired,
  { friend, nth }: { friend: PhoneHandle; nth: number },
  signal: AbortSignal,
): Promise<Sent[]> {
  const group = network.group(phone, `Group ${nth}`, [friend]).jid;
  const sent: Sent[] = [];
  for (let at = 0; !signal.aborted; at += 1) {
    const text = `${nth}.${at}`;
    const stranger = at % 4 === 3 ? network.phone(`55119${nth}${String(at).padStart(7, '0')}`) : null;
    const [path, body] = [
      ['text', { to: friend.number, text }],
      ['text', { to: group, text }],
      ['status/text', { text }],
      ['text', { to: stranger?.number, text }],
    ][at % 4] as [string, object];
    const key = randomUUID();
    const messageId = await waitFor(
      async () => {
        const answer = await call('POST', `/${id}/messages/${path}`, body, key);
        if (
          answer.status >= 400 &&
          answer.status < 500 &&
          answer.body.error_code !== 'INSTANCE_NOT_CONNECTED'
        )
          throw new Error(JSON.stringify(answer.body));
        return answer.status === 202 && (answer.body.message_id as string);
      },
      120_000,
      { what: `the 202 of ${text}`, everyMs: 50 },
    );
    sent.push({ messageId, readers: [stranger ?? friend, phone] });
    await delay(PAUSE_MS);
    // The phone of an instance has a copy of every message of the instance.
    while (sent.length - phone.messages.length > WAITING_MAX && !signal.aborted) await delay(PAUSE_MS);
  }
  return sent;
}

/** `timesSeen` counts how often a phone could decrypt a message, whatever its id. */
async function proveOnce(phone: PhoneHandle, sent: readonly Sent[]): Promise<void> {
  for (const reader of new Set(sent.flatMap(({ readers }) => readers))) {
    const ids = sent
      .filter(({ readers }) => readers.includes(reader))
      .map(({ messageId }) => networkIdOf(messageId));
    await reader.message(ids.at(-1)!, LAST_MS);
    const ours = new Set(ids);
    const shown = reader.messages.filter(({ id }) => ours.has(id));
    const where = `what ${reader.number} has of ${phone.number}`;
    assert.deepEqual(
      shown.filter(({ timesSeen }) => timesSeen !== 1),
      [],
      where,
    );
    const at = ids.findIndex((id, nth) => shown[nth]?.id !== id);
    assert.deepEqual([at, shown.length], [-1, ids.length], where);
    assert.deepEqual(reader.phone.failures, []);
  }
}
