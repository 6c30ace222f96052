import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, seedWebhook, startDispatcher, startReceiver } from './support.ts';

const QUIET = 50;
const NOTIFICATIONS = 40;

let parts: Parts;
let db: Db;
before(async () => {
  parts = await createParts();
  db = createDb({ url: parts.url, poolSize: 6, log: parts.log, name: 'probes', plans: 'indexed' });
});
after(async () => {
  await db.close();
  await parts.close();
});

test('endpoints that have fallen quiet are not asked for because others have work', async (t) => {
  const receiver = await startReceiver();
  t.after(receiver.close);
  const companies: { companyId: number; webhookId: number }[] = [];
  for (let i = 0; i <= QUIET; i += 1) {
    const { companyId } = await seedCompany(parts.db);
    companies.push({ companyId, webhookId: (await seedWebhook(parts.db, companyId, receiver.url)).id });
  }
  const busy = companies[0]!;
  let watching = false;
  const asked: number[] = [];
  const query = db.query as (config: { name?: string; values?: unknown[] }, values?: unknown[]) => unknown;
  const watched = {
    ...db,
    query(config: { name?: string; values?: unknown[] }, values?: unknown[]) {
      if (watching && config.name === 'deliveries-claim') asked.push(...(config.values![0] as number[]));
      return query(config, values);
    },
  } as Db;
  const dispatcher = await startDispatcher(parts, { db: watched });
  t.after(dispatcher.close);
  for (const { companyId } of companies) await emitEvents(parts, companyId, 1);
  await waitFor(() => receiver.requests === companies.length);
  const goOn = async (notifications: number) => {
    for (let i = 0; i < notifications; i += 1) {
      await emitEvents(parts, busy.companyId, 1);
      await delay(50);
    }
  };
  // Notifications keep coming, as in a busy installation; after two seconds the others are quiet.
  await goOn(NOTIFICATIONS + 10);
  watching = true;
  await goOn(NOTIFICATIONS);
  await waitFor(() => receiver.requests === companies.length + 2 * NOTIFICATIONS + 10);
  assert.ok(asked.includes(busy.webhookId));
  const inVain = asked.filter((webhookId) => webhookId !== busy.webhookId);
  assert.deepEqual(inVain, [], `${inVain.length} probes in ${NOTIFICATIONS} notifications`);
});
