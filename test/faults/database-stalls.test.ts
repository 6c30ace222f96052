import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { migrate } from '@posthorn/core/migrations/migrate.ts';
import { tellFigure } from '../support/figures.ts';
import { startPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import { startSystem } from '../support/system.ts';

/** In full size it is longer than any time limit of our connections. */
const STALL_MS = sized(25_000, 25_000, 50_000);
const SENDS = 20;
const AIM_MS = 10_500;
/** The time limit of an accept, and some more for a busy machine. */
const NEVER_MS = 12_000;

test(`PostgreSQL is frozen for ${STALL_MS / 1000} s: accepts answer 503 within 10 s, and their keys replay`, async (t) => {
  const postgres = await startPostgres({ fsync: false });
  t.after(() => postgres.stop());
  const databaseUrl = postgres.urlOf('postgres');
  await migrate(databaseUrl);
  const system = await startSystem({ databaseUrl, amqpUrl: (await createTestVhost()).url });
  t.after(async () => {
    postgres.resume();
    await system.stop();
  });
  const company = await seedCompany(system.db);
  const settings = { humanize_enabled: false, anti_spam_guard_enabled: false };
  const id = await seedInstance(system.db, company.companyId, {
    state: 'CREATED',
    wanted: 'connected',
    settings,
  });
  const instance = await waitFor(async () => {
    const { rows } = await system.db.query<{ id: string; phone: string }>(
      `SELECT id, phone FROM instances WHERE id = $1 AND state = 'CONNECTED'`,
      [id],
    );
    return rows[0];
  });

  interface Send {
    key: string;
    path: string;
    body: object;
    /** The key of one of the two companies; the second company was never used before. */
    apiKey: string;
  }
  const accepted = new Map<string, string>();
  async function send({ key, path, body, apiKey }: Send) {
    const sinceMs = performance.now();
    const answer = await fetch(`${system.urls[0]}/v1/instances/${id}/messages/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey, 'idempotency-key': key },
      body: JSON.stringify(body),
    });
    const json = (await answer.json()) as { message_id: string; error_code?: string };
    if (answer.status === 202) {
      const before = accepted.get(key);
      assert.ok(before === undefined || before === json.message_id, 'a key names one message');
      accepted.set(key, json.message_id);
    }
    return {
      status: answer.status,
      code: json.error_code,
      retryAfter: answer.headers.get('retry-after'),
      tookMs: performance.now() - sinceMs,
    };
  }
  const textTo = (nth: number, apiKey = company.apiKey): Send => ({
    key: randomUUID(),
    path: 'text',
    body: { to: `5531${String(nth).padStart(9, '0')}`, text: `text ${nth}` },
    apiKey,
  });

  const stranger = await seedCompany(system.db);
  const first = textTo(0);
  assert.equal((await send(first)).status, 202);
  const sends = [
    ...Array.from({ length: SENDS }, (_, nth) => textTo(nth + 1)),
    // Sends that need a look-up first, and credentials that this process has not seen.
    { ...textTo(0), path: 'reaction', body: { to: '5531000000000', message_id: randomUUID(), emoji: '👍' } },
    textTo(SENDS + 1, stranger.apiKey),
    {
      ...textTo(0),
      path: 'scheduled',
      body: { type: 'text', send_at: '2126-01-01T00:00:00Z', body: { to: '5531000000000', text: 'x' } },
    },
  ];
  // Some are under way when it stops, others come during the stall.
  const early = sends.slice(0, SENDS / 2).map(send);
  await delay(5);
  postgres.pause();
  const sincePausedMs = performance.now();
  const late = sends.slice(SENDS / 2).map(send);
  const answers = await Promise.all([...early, ...late]);
  const refused = answers.filter(({ status }) => status !== 202);
  for (const { status, code, retryAfter } of refused) {
    assert.deepEqual([status, code], [503, 'SERVICE_UNAVAILABLE']);
    assert.ok(Number(retryAfter) > 0, 'it says when to come again');
  }
  assert.ok(refused.length >= late.length);
  const slowestMs = Math.max(...answers.map(({ tookMs }) => tookMs));
  tellFigure('the slowest accept while PostgreSQL stood still', slowestMs, { atMost: AIM_MS });
  assert.ok(slowestMs < NEVER_MS);
  // Repeats during the stall wait no longer either.
  const repeats = await Promise.all(sends.slice(0, 3).map(send));
  for (const { status, tookMs } of repeats) assert.ok(status === 503 && tookMs < NEVER_MS);
  await delay(Math.max(0, STALL_MS - (performance.now() - sincePausedMs)));
  postgres.resume();

  const texts = sends.slice(0, SENDS);
  const resumedAtMs = performance.now();
  for (const each of texts)
    await waitFor(async () => (await send(each)).status === 202, 60_000, { what: 'the key is answered 202' });
  tellFigure('all keys were answered after it went on', performance.now() - resumedAtMs, { atMost: 5_000 });
  for (const each of [first, ...texts]) assert.equal((await send(each)).status, 202);
  assert.equal(new Set(accepted.values()).size, SENDS + 1);
  const { rows } = await waitFor(async () => {
    const found = await system.db.query<{ id: string }>(
      'SELECT id FROM messages WHERE instance_id = $1 ORDER BY sent_at, id',
      [id],
    );
    return found.rows.length === SENDS + 1 && found;
  });
  const ids = rows.map((row) => row.id);
  assert.deepEqual(
    new Set(ids),
    new Set(accepted.values()),
    'each key is one message, and there is no other',
  );
  await waitFor(async () => (await system.db.query('SELECT FROM outbox')).rows.length === 0, 60_000);
  const { network } = await ledgerOf(system.sandboxUrl, instance.phone);
  assert.equal(network.length, SENDS + 1, 'the network got each once');
});

async function ledgerOf(sandboxUrl: string, from: string): Promise<{ network: string[] }> {
  const answer = await fetch(`${sandboxUrl}/ledger?from=${from}&limit=1000`);
  const { entries } = (await answer.json()) as { entries: { network_id: string }[] };
  return { network: entries.map(({ network_id }) => network_id) };
}
