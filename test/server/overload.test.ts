import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { OPEN_MAX, WAIT_MAX_MS } from '@posthorn/core/limits/shed-load.ts';
import { startTestBilling, type TestBilling } from '../billing/billing-harness.ts';
import { type Answer, startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

const FLOOD = 2 * OPEN_MAX;
const LATE = 20;

type Service = TestMessaging | TestBilling;

/**
 * Locks a table, lets `begin` send {@link FLOOD} requests that wait for it, and runs `act` once they have waited too
 * long, however slow the machine is.
 */
async function whileLocked(
  { parts }: Service,
  table: string,
  { begin, act }: { begin: () => void; act: () => Promise<void> },
): Promise<void> {
  const client = await parts.db.pool.connect();
  let arrived = 0;
  const count = () => {
    arrived += 1;
  };
  subscribe('http.server.request.start', count);
  try {
    await client.query('SET idle_in_transaction_session_timeout = 0');
    await client.query(`BEGIN; LOCK TABLE ${table}`);
    begin();
    await waitFor(async () => {
      const { rowCount } = await client.query(
        `SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database
         WHERE NOT granted AND relation = $1::regclass AND d.datname = current_database()`,
        [table],
      );
      return rowCount! > 0 && arrived >= FLOOD;
    });
    await delay(WAIT_MAX_MS + 500);
    await act();
  } finally {
    unsubscribe('http.server.request.start', count);
    // This closes the connection, and with it the transaction.
    client.release(true);
  }
}

function assertShed({ status, body, headers, text }: Answer): void {
  assert.equal(status, 503, text);
  assert.equal(body.error_code, 'SERVICE_UNAVAILABLE');
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d?$/);
}

/** A request that timed out after 10 s got a 503 as well, and is not counted. */
async function countShed(api: Service): Promise<number> {
  const answer = await fetch(`${api.url}/metrics`);
  return Number(/^posthorn_requests_shed_total (\d+)$/m.exec(await answer.text())?.[1]);
}

/** One company requests a list very often while its table is locked, and another requests it once. */
async function floodReads(api: Service, { path, table }: { path: string; table: string }): Promise<void> {
  const [flooding, other] = [await seedCompany(api.parts.db), await seedCompany(api.parts.db)];
  const list = (company: SeededCompany) => api.call('GET', path, { key: company.apiKey });
  const early: Promise<Answer>[] = [];
  let shedBefore = 0;
  await whileLocked(api, table, {
    begin() {
      for (let nth = 0; nth < FLOOD; nth += 1) early.push(list(flooding));
    },
    async act() {
      // On a slow machine some of the early ones came so late that they were refused as well.
      shedBefore = await countShed(api);
      for (const answer of await Promise.all(Array.from({ length: LATE }, () => list(flooding))))
        assertShed(answer);
      early.push(list(other));
      await delay(100);
    },
  });
  await Promise.all(early);
  assert.equal((await countShed(api)) - shedBefore, LATE);
  for (const company of [flooding, other]) assert.equal((await list(company)).status, 200);
}

test('while sends wait for more than two seconds, a company with many open ones is refused at once, another is not, and no key is lost', async (t) => {
  const api = await startTestMessaging();
  t.after(() => api.close());
  const [flooding, other] = [await seedCompany(api.parts.db), await seedCompany(api.parts.db)];
  const instances = new Map<SeededCompany, string>();
  for (const company of [flooding, other])
    instances.set(company, await seedInstance(api.parts.db, company.companyId));
  const send = (company: SeededCompany, key: string) =>
    api.call('POST', `/v1/instances/${instances.get(company)}/messages/text`, {
      key: company.apiKey,
      headers: { 'idempotency-key': key },
      body: { to: `5531${key.slice(0, 9)}`, text: key },
    });
  const keys = (count: number) =>
    Array.from({ length: count }, (_, nth) => `${String(nth).padStart(9, '9')}-${randomUUID()}`);
  const [earlyKeys, lateKeys, otherKeys] = [keys(FLOOD), keys(LATE), keys(3)];
  const early: Promise<Answer>[] = [];
  let shedBefore = 0;
  await whileLocked(api, 'outbox', {
    begin() {
      for (const key of earlyKeys) early.push(send(flooding, key));
    },
    async act() {
      // On a slow machine some of the early ones came so late that they were refused as well.
      shedBefore = await countShed(api);
      for (const answer of await Promise.all(lateKeys.map((key) => send(flooding, key)))) assertShed(answer);
      for (const key of otherKeys) early.push(send(other, key));
      await delay(100);
    },
  });
  await Promise.all(early);
  assert.equal((await countShed(api)) - shedBefore, LATE);
  for (const key of [...earlyKeys, ...lateKeys]) assert.equal((await send(flooding, key)).status, 202);
  for (const key of otherKeys) assert.equal((await send(other, key)).status, 202);
  const { rows } = await api.parts.db.query<{ texts: number; messages: number }>(
    `SELECT count(*)::int AS messages, count(DISTINCT content->>'text')::int AS texts FROM messages
     WHERE instance_id = $1`,
    [instances.get(flooding)],
  );
  assert.deepEqual(rows, [{ messages: FLOOD + LATE, texts: FLOOD + LATE }]);
});

test('so is one whose reads hold all connections', async (t) => {
  const api = await startTestMessaging();
  t.after(() => api.close());
  await floodReads(api, { path: '/v1/webhooks', table: 'webhooks' });
});

test('so is one that floods the billing service', async (t) => {
  const billing = await startTestBilling();
  t.after(() => billing.close());
  await floodReads(billing, { path: '/v1/billing/charges', table: 'billing.charges' });
});
