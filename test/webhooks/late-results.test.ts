import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { tellFigure } from '../support/figures.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, logsOf, pendingOf, seedWebhook, startDispatcher, startReceiver } from './support.ts';

const EVENTS = 800;
const LEASE_MS = 60_000;
/** Together they end before the lease does. */
const ANSWERED_WITHIN_MS = 30_000;
const RECORDED_WITHIN_MS = 20_000;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('deliveries that were answered while a write took seconds are recorded soon after, and not made again', async (t) => {
  const hot = createDb({ url: parts.url, poolSize: 6, log: parts.log, name: 'late', plans: 'indexed' });
  t.after(() => hot.close());
  const receiver = await startReceiver();
  t.after(receiver.close);
  const { companyId } = await seedCompany(parts.db);
  const webhook = await seedWebhook(parts.db, companyId, receiver.url);
  let isSlow = true;
  const db = {
    ...hot,
    query: async (query: { name?: string }, values?: unknown[]) => {
      // A disk that stalls once, until everything is answered.
      if (isSlow && query.name?.startsWith('attempts-record')) {
        await waitFor(() => receiver.requests >= EVENTS, ANSWERED_WITHIN_MS);
        await delay(100);
        isSlow = false;
      }
      return hot.query(query as never, values);
    },
  } as typeof hot;
  const dispatcher = await startDispatcher(parts, { db, leaseMs: LEASE_MS });
  t.after(dispatcher.close);
  await emitEvents(parts, companyId, EVENTS);
  await waitFor(() => !isSlow, ANSWERED_WITHIN_MS);
  const since = performance.now();
  const recorded = async () => (await logsOf(parts.db, webhook.id)).length;
  await waitFor(async () => (await recorded()) >= EVENTS, RECORDED_WITHIN_MS);
  tellFigure('what was answered meanwhile is recorded', performance.now() - since, { atMost: 1_500 });
  // A recorded delivery no longer waits: nothing is left that could be sent again when the lease ends.
  assert.deepEqual(
    {
      recorded: await recorded(),
      requests: receiver.requests,
      pending: await pendingOf(parts.db, webhook.id),
    },
    { recorded: EVENTS, requests: EVENTS, pending: 0 },
  );
});
