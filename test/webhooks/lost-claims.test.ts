import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, pendingOf, seedWebhook, startDispatcher, startReceiver } from './support.ts';

const EVENTS = 200;
const LOST = 5;
const LEASE_MS = 60_000;
/** Well below the lease. */
const SOON_MS = 40_000;

let parts: Parts;
before(async () => {
  parts = await createParts();
});
after(() => parts.close());

test('deliveries whose claim was committed, but not answered, are made once and do not wait for its lease', async (t) => {
  const hot = createDb({ url: parts.url, poolSize: 6, log: parts.log, name: 'lost', plans: 'indexed' });
  t.after(() => hot.close());
  const receiver = await startReceiver();
  t.after(receiver.close);
  const { companyId } = await seedCompany(parts.db);
  const webhook = await seedWebhook(parts.db, companyId, receiver.url);
  let lost = 0;
  const db = {
    ...hot,
    query: async (query: { name?: string }, values?: unknown[]) => {
      const answer = await hot.query(query as never, values);
      if (query.name === 'deliveries-claim' && answer.rows.length > 0 && lost < LOST) {
        lost += 1;
        throw new Error('Connection terminated unexpectedly');
      }
      return answer;
    },
  } as typeof hot;
  const dispatcher = await startDispatcher(parts, { db, leaseMs: LEASE_MS });
  t.after(dispatcher.close);
  const events = await emitEvents(parts, companyId, EVENTS);
  await waitFor(async () => (await pendingOf(parts.db, webhook.id)) === 0, SOON_MS);
  assert.equal(lost, LOST);
  assert.deepEqual(
    receiver.received.map(({ headers }) => String(headers['webhook-id'])).sort(),
    events.map(({ eventId }) => eventId).sort(),
  );
});
