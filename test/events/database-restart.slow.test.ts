import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventFeed } from '@posthorn/core/events/event-feed.ts';
import type { EventBatch } from '@posthorn/core/events/event-sink.ts';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import type { Parts } from '../support/parts.ts';
import { startTestPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany } from '../support/seed.ts';
import { emitEvents, logsOf, seedWebhook, startDispatcher, startReceiver } from '../webhooks/support.ts';

test('when the database is cut off and comes back, streams and deliveries continue where they were', async (t) => {
  const postgres = await startTestPostgres();
  t.after(postgres.stop);
  const url = postgres.urlOf('posthorn_template');
  const log = createLog({ level: 'silent', role: 'test' });
  const db = createDb({ url, poolSize: 8, log, name: 'test' });
  t.after(db.close);
  const bus = await createBus({ url, log, name: 'test' });
  t.after(bus.close);
  const parts = { url, db, bus, log, clock: systemClock } as unknown as Parts;
  const { companyId } = await seedCompany(db);
  const receiver = await startReceiver();
  t.after(receiver.close);
  const webhook = await seedWebhook(db, companyId, receiver.url);
  const feed = createEventFeed({ db, bus, clock: systemClock, log, retentionDays: 14 });
  t.after(feed.close);
  const seen: string[] = [];
  await feed.subscribe({
    companyId,
    after: await feed.present(companyId),
    filter: {},
    sink: {
      write(batch: EventBatch) {
        seen.push(...batch.events.map((event) => event.eventId));
        return 0;
      },
      drained: async () => undefined,
      reset: () => assert.fail('nothing has expired'),
      heartbeat: () => undefined,
      end: () => undefined,
    },
  });
  const dispatcher = await startDispatcher(parts, { leaseMs: 15_000 });
  t.after(dispatcher.close);
  const emitted: string[] = [];
  const emit = async (count: number) => {
    const events = await emitEvents(parts, companyId, count);
    bus.notify('events', String(companyId));
    emitted.push(...events.map((event) => event.eventId));
  };
  const settled = () => seen.length >= emitted.length && receiver.requests >= emitted.length;
  await emit(50);
  await waitFor(settled);
  for (let cut = 0; cut < 2; cut += 1) {
    await emit(200);
    await postgres.restart();
    await waitFor(() => emit(20).then(() => true), 60_000, { everyMs: 200 });
    await waitFor(settled, 60_000);
  }
  // The caller of an insert that was cut off does not know its outcome, so the log itself is read.
  const { rows } = await db.query<{ event_id: string }>(
    'SELECT event_id FROM events WHERE company_id = $1 ORDER BY tx, id',
    [companyId],
  );
  const expected = rows.map((row) => row.event_id);
  await waitFor(() => seen.length >= expected.length);
  assert.deepEqual(seen, expected, 'every event once, in order');
  const logs = await waitFor(async () => {
    const found = await logsOf(db, webhook.id);
    return found.length >= expected.length && found;
  }, 60_000);
  assert.equal(logs.length, expected.length, 'one logged attempt each');
  assert.deepEqual(new Set(logs.map((entry) => entry.event_id)), new Set(expected));
  assert.ok(logs.every((entry) => entry.success && entry.attempt === 1));
});
